/* Random Othello games in C: what the engine is measured against.
 *
 * Two loops that fill moves[games][60] and legal[games][60], with the random numbers of the engine,
 * so that all of them play the same games:
 *   play_in_step   64 games in step, written so that the compiler can vectorise over games;
 *   play_singly    one game after the other, the lines of a position in one vector, the move chosen
 *                  by the processor's own bit deposit: the usual fast loop.
 */
#include <stdint.h>
#include <string.h>
#ifdef __BMI2__
#include <immintrin.h>
#endif

#define MOVES 60
#define LANES 64
#define NO_MOVE 255
#define INNER 0x7E7E7E7E7E7E7E7EULL
#define GOLDEN 0x9E3779B97F4A7C15ULL
#define BLACK ((1ULL << 28) | (1ULL << 35))
#define WHITE ((1ULL << 27) | (1ULL << 36))

typedef uint64_t u64;
typedef uint64_t lines __attribute__((vector_size(32)));

static inline u64 mixed(u64 word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
    return word ^ (word >> 31);
}

/* In step */

static inline u64 run_up(u64 origin, u64 through, int step) {
    u64 run = through & (origin << step);
    run |= through & (run << step);
    u64 pairs = through & (through << step);
    run |= pairs & (run << (2 * step));
    return run | (pairs & (run << (2 * step)));
}

static inline u64 run_down(u64 origin, u64 through, int step) {
    u64 run = through & (origin >> step);
    run |= through & (run >> step);
    u64 pairs = through & (through >> step);
    run |= pairs & (run >> (2 * step));
    return run | (pairs & (run >> (2 * step)));
}

static inline u64 beyond(u64 own, u64 through, int step) {
    return (run_up(own, through, step) << step) | (run_down(own, through, step) >> step);
}

static inline u64 legal_moves(u64 own, u64 opponent) {
    u64 inner = opponent & INNER;
    return (beyond(own, inner, 1) | beyond(own, inner, 7) | beyond(own, inner, 9) |
            beyond(own, opponent, 8)) & ~(own | opponent);
}

static inline u64 enclosed(u64 move, u64 own, u64 through, int step) {
    u64 up = run_up(move, through, step), down = run_down(move, through, step);
    return (((up << step) & own) ? up : 0) | (((down >> step) & own) ? down : 0);
}

static inline u64 flips_of(u64 move, u64 own, u64 opponent) {
    u64 inner = opponent & INNER;
    return enclosed(move, own, inner, 1) | enclosed(move, own, inner, 7) |
           enclosed(move, own, inner, 9) | enclosed(move, own, opponent, 8);
}

static inline u64 lowest(u64 set) { return (u64)__builtin_ctzll(set); }

static inline u64 move_of_rank(u64 set, u64 rank) {
#ifdef __BMI2__
    return _pdep_u64(1ULL << rank, set);
#else
    while (rank--) set &= set - 1;
    return set & -set;
#endif
}

void play_in_step(const u64 *keys, long games, uint8_t (*moves)[MOVES], u64 (*legal)[MOVES]) {
    u64 own[LANES], opponent[LANES], available[LANES], chosen[LANES], words[LANES], state[LANES];
    for (long first = 0; first < games; first += LANES) {
        int width = games - first < LANES ? (int)(games - first) : LANES;
        for (int lane = 0; lane < LANES; lane++) {
            own[lane] = BLACK;
            opponent[lane] = WHITE;
            available[lane] = legal_moves(BLACK, WHITE);
            state[lane] = keys[first + (lane < width ? lane : width - 1)];
        }
        for (int ply = 0; ply < MOVES; ply++) {
            for (int lane = 0; lane < LANES; lane++) {
                state[lane] += GOLDEN;
                words[lane] = mixed(state[lane]) >> 32;
            }
            for (int lane = 0; lane < LANES; lane++) {
                u64 set = available[lane];
                u64 rank = (words[lane] * (u64)__builtin_popcountll(set)) >> 32;
                chosen[lane] = set ? move_of_rank(set, rank) : 0;
            }
            for (int lane = 0; lane < width; lane++) {
                moves[first + lane][ply] = chosen[lane] ? lowest(chosen[lane]) : NO_MOVE;
                legal[first + lane][ply] = available[lane];
            }
            for (int lane = 0; lane < LANES; lane++) {
                u64 flips = flips_of(chosen[lane], own[lane], opponent[lane]);
                u64 mover = opponent[lane] & ~flips, other = own[lane] | flips | chosen[lane];
                own[lane] = mover;
                opponent[lane] = other;
                available[lane] = legal_moves(mover, other);
            }
            for (int lane = 0; lane < LANES; lane++)
                if (available[lane] == 0) {
                    u64 mover = opponent[lane];
                    opponent[lane] = own[lane];
                    own[lane] = mover;
                    available[lane] = legal_moves(mover, opponent[lane]);
                }
        }
    }
}

/* Singly */

static const lines STEP = {1, 7, 8, 9};

static inline u64 joined(lines set) { return set[0] | set[1] | set[2] | set[3]; }

static inline u64 lines_legal(u64 own, u64 opponent) {
    u64 inner = opponent & INNER;
    lines from = {own, own, own, own}, through = {inner, inner, opponent, inner};
    lines up = through & (from << STEP), down = through & (from >> STEP);
    up |= through & (up << STEP);
    down |= through & (down >> STEP);
    lines pairs_up = through & (through << STEP), pairs_down = through & (through >> STEP);
    up |= pairs_up & (up << 2 * STEP);
    down |= pairs_down & (down >> 2 * STEP);
    up |= pairs_up & (up << 2 * STEP);
    down |= pairs_down & (down >> 2 * STEP);
    return joined((up << STEP) | (down >> STEP)) & ~(own | opponent);
}

static inline u64 lines_flips(u64 move, u64 own, u64 opponent) {
    u64 inner = opponent & INNER;
    lines from = {move, move, move, move}, ends = {own, own, own, own};
    lines through = {inner, inner, opponent, inner};
    lines up = through & (from << STEP), down = through & (from >> STEP);
    up |= through & (up << STEP);
    down |= through & (down >> STEP);
    lines pairs_up = through & (through << STEP), pairs_down = through & (through >> STEP);
    up |= pairs_up & (up << 2 * STEP);
    down |= pairs_down & (down >> 2 * STEP);
    up |= pairs_up & (up << 2 * STEP);
    down |= pairs_down & (down >> 2 * STEP);
    up &= (lines)(((up << STEP) & ends) != 0);
    down &= (lines)(((down >> STEP) & ends) != 0);
    return joined(up | down);
}

void play_singly(const u64 *keys, long games, uint8_t (*moves)[MOVES], u64 (*legal)[MOVES]) {
    for (long game = 0; game < games; game++) {
        u64 own = BLACK, opponent = WHITE, available = lines_legal(own, opponent);
        u64 state = keys[game];
        int ply = 0;
        while (available) {
            state += GOLDEN;
            u64 word = mixed(state) >> 32;
            u64 rank = (word * (u64)__builtin_popcountll(available)) >> 32;
            u64 move = move_of_rank(available, rank);
            moves[game][ply] = lowest(move);
            legal[game][ply++] = available;
            u64 flips = lines_flips(move, own, opponent);
            u64 mover = opponent & ~flips;
            opponent = own | flips | move;
            own = mover;
            available = lines_legal(own, opponent);
            if (available == 0) {
                own = opponent;
                opponent = mover;
                available = lines_legal(own, opponent);
            }
        }
        memset(&moves[game][ply], NO_MOVE, MOVES - ply);
        memset(&legal[game][ply], 0, sizeof(u64) * (MOVES - ply));
    }
}
