"""Stores that notice damage, run no code, and stay as they were for whoever loaded them."""

import gc
import json
import pickle
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

import accion as ac
from accion import campaign
from accion.results import codecs, manifest, storage, store

SYSTEM = ac.System(lambda t, q, v, k: 0.5 * v @ v - 0.5 * k * q @ q, ac.Euclidean(1), 2.0)
PLAN = campaign.grid({"q0[0]": [0.1, 0.2, 0.3]}, v0=[0.0])
RUN = {"h": 0.1, "steps": 5}


@pytest.fixture(scope="module")
def runs():
    return [ac.simulate(SYSTEM, ac.Midpoint(), q0=[q], v0=[0.0], **RUN) for q in (1.0, 2.0)]


def run_campaign(path, **changed):
    asked = RUN | {"chunk": 1, "store": path, "progress": False} | changed
    return campaign.run(SYSTEM, ac.Midpoint(), PLAN, **asked)


def test_every_file_is_in_the_manifest(runs, tmp_path):
    runs[0].save(tmp_path / "run")
    listed = manifest.Files(tmp_path / "run", "").checksums
    assert set(listed) == set(manifest.all_files(tmp_path / "run"))
    assert {".zattrs", ".zmetadata", "q/.zarray", "q/0.0"} <= set(listed)


def test_a_manifest_that_is_missing_is_missed(runs, tmp_path):
    runs[0].save(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / ".accion")
    with pytest.raises(ValueError, match=r"run is damaged: its file \.accion/store is missing"):
        ac.load(tmp_path / "run")


@pytest.fixture
def old(tmp_path):
    """A trajectory that accion wrote before it had checksums."""
    with tarfile.open(Path(__file__).parents[1] / "data" / "stores.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "bead.zarr"


def test_a_store_without_checksums_loads_with_a_word(old):
    with pytest.warns(ac.NoChecksums, match=r"bead.zarr was written by an older accion"):
        assert len(ac.load(old)) == 5


@pytest.mark.filterwarnings("ignore::accion.errors.NoChecksums")
def test_damage_that_zarr_notices_is_an_error_without_checksums_too(old):
    (old / "q" / "0.0").write_bytes(b"\x02\x01\x21\x08" + bytes(30))
    with pytest.raises(ValueError, match=r"bead\.zarr is not a saved trajectory: it cannot be"):
        ac.load(old)


# ---------------------------------------------------------------- chunks of a campaign


def test_a_chunk_of_another_campaign_is_not_taken(tmp_path):
    """A worker that did not notice that its store was replaced writes a chunk there."""
    run_campaign(tmp_path / "mine")
    whole = run_campaign(tmp_path / "other", h=0.2)
    for name in ("q/1.0", "p/1.0", ".accion/1"):
        shutil.copy(tmp_path / "mine" / name, tmp_path / "other" / name)
    (tmp_path / "other" / ".accion" / "complete").unlink()
    part = campaign.load(tmp_path / "other")
    assert part["failure"].values.tolist() == [0, -1, 0]
    np.testing.assert_array_equal(run_campaign(tmp_path / "other", h=0.2)["q"], whole["q"])


def test_metadata_of_a_campaign_are_written_again_by_the_same_one(tmp_path):
    path = tmp_path / "store"
    whole = run_campaign(path)
    file = path / ".zattrs"
    file.write_text(file.read_text().replace("system", "sistem"))
    words = r"damaged: its file \.zattrs is not as it was written"
    with pytest.raises(ValueError, match=words):
        campaign.load(path)
    with pytest.raises(ValueError, match=words):
        run_campaign(path, h=0.2)
    run_campaign(path)
    assert campaign.load(path).identical(whole)
    file.unlink()
    run_campaign(path)
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


@pytest.mark.filterwarnings("ignore::accion.errors.NoChecksums")
def test_a_part_of_a_campaign_without_checksums_is_not_gone_on_with(tmp_path, monkeypatch):
    path = tmp_path / "store"
    run_campaign(path)
    shutil.rmtree(path / ".accion")
    for name in (".zattrs", ".zmetadata"):
        text = (path / name).read_text()
        (path / name).write_text(text.replace('"checksums"', '"other"'))
    from accion.campaign.store import Store

    monkeypatch.setattr(Store, "open", lambda self, mode: {"done": np.array([1, 0, 1])})
    with pytest.raises(ValueError, match="begun by an older accion, without checksums"):
        run_campaign(path)


# ---------------------------------------------------------------- what was loaded


def test_what_was_loaded_stays_when_its_store_is_replaced(runs, tmp_path):
    path = tmp_path / "run"
    runs[0].save(path)
    there = store.read(path, storage.TRAJECTORY)
    runs[1].save(path, overwrite=True)
    np.testing.assert_array_equal(there["q"], runs[0].q)
    np.testing.assert_array_equal(ac.load(path).q, runs[1].q)
    there.close()
    del there
    gc.collect()
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_a_campaign_that_was_returned_stays_when_its_store_is_replaced(tmp_path):
    path = tmp_path / "runs"
    found, loaded = run_campaign(path), campaign.load(path)
    in_memory = run_campaign(None)
    other = run_campaign(path, h=0.2, overwrite=True)
    for each in (found, loaded):
        np.testing.assert_array_equal(each["q"], in_memory["q"])
    assert not np.array_equal(other["q"], in_memory["q"])


def test_what_was_loaded_from_a_part_stays_when_the_rest_is_done(tmp_path):
    path = tmp_path / "runs"
    run_campaign(path)
    for name in ("complete", "1"):
        (path / ".accion" / name).unlink()
    part = campaign.load(path)
    run_campaign(path)
    assert np.isnan(part["q"].values[:, 0]).tolist() == [False, True, False]
    assert part["reason"].values.tolist() == ["", "not run", ""]


def test_what_was_loaded_goes_to_other_processes(tmp_path):
    found = pickle.loads(pickle.dumps(run_campaign(tmp_path / "runs")))
    np.testing.assert_array_equal(found["q"], run_campaign(None)["q"])


def test_a_file_that_changes_after_loading_is_noticed(tmp_path):
    found = run_campaign(tmp_path / "runs")
    (tmp_path / "runs" / "q" / "1.0").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"its file q/1\.0 is not as it was written"):
        found["q"].load()


# ---------------------------------------------------------------- no code in a file


def poison(path, where):
    """Make an array of a store ask for a codec that runs code when it is decoded."""
    for name in (".zmetadata", "q/.zarray"):
        file = path / name
        found = json.loads(file.read_text())
        entry = found["metadata"]["q/.zarray"] if name == ".zmetadata" else found
        entry[where] = {"id": "pickle"} if where == "compressor" else [{"id": "pickle"}]
        file.write_text(json.dumps(found))
    manifest.seal(path, manifest.BASE, manifest.all_files(path))  # its checksums are right


@pytest.mark.parametrize("where", ["compressor", "filters"])
def test_a_codec_that_runs_code_is_refused(where, runs, tmp_path):
    path = tmp_path / "run"
    runs[0].save(path)
    poison(path, where)
    with pytest.raises(ValueError, match=r"asks for the codec 'pickle'.*may run code"):
        ac.load(path)


def test_the_codecs_that_are_written_are_known(runs, tmp_path):
    runs[0].save(tmp_path / "run")
    found = json.loads((tmp_path / "run" / ".zmetadata").read_text())
    assert set(codecs.codecs_of(found)) <= set(codecs.KNOWN)
    assert set(codecs.codecs_of(found)) >= {"vlen-utf8"}
