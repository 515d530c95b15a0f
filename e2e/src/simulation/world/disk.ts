import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ControlPlane } from '@mcm/control-plane';
import type { Random } from '@mcm/kube';
import { type CloudStore, openSqliteStore } from '@mcm/provider-local';

const LOG_HEADER = 32;
const FRAME = 24 + 4_096;
const CLOUD_FILES = ['cloud.sqlite'];
const PLANE_FILES = ['store.sqlite'];
/** Matches the files with keys, certificates and tokens of the control plane. */
const KEPT = /\.(?:key|crt|token)$/;

export class Disk {
  readonly #base = mkdtempSync(join(tmpdir(), 'mcm-simulation-'));
  readonly #random: Random;
  #crashes = 0;
  #cloud = join(this.#base, 'cloud');
  #plane = join(this.#base, 'plane');

  constructor(random: Random) {
    this.#random = random;
  }

  get plane(): string {
    return this.#plane;
  }

  crashPlane(): number {
    const kept = readdirSync(this.#plane).filter((name) => KEPT.test(name));
    this.#plane = this.#torn(this.#plane, [...PLANE_FILES, ...kept]);
    const database = new DatabaseSync(join(this.#torn(this.#plane, PLANE_FILES), 'store.sqlite'));
    const { revision } = database.prepare('SELECT revision FROM counter').get() ?? {};
    database.close();
    return Number(revision);
  }

  openCloud(): CloudStore {
    return openSqliteStore(this.#cloud);
  }

  crashCloud(): void {
    this.#cloud = this.#torn(this.#cloud, CLOUD_FILES);
  }

  planeLosses({ objects }: ReturnType<ControlPlane['snapshot']>): readonly string[] {
    const database = new DatabaseSync(join(this.#torn(this.plane, PLANE_FILES), 'store.sqlite'));
    const stored = new Map(
      database
        .prepare('SELECT resource, namespace, name, json FROM object')
        .all()
        .map(({ resource, namespace, name, json }) => [`${resource} ${namespace}/${name}`, String(json)]),
    );
    database.close();
    const live = new Map(
      objects.map(({ resource, record: { namespace, name, json } }) => [`${resource} ${namespace}/${name}`, json]),
    );
    return [...new Set([...stored.keys(), ...live.keys()])]
      .filter((key) => stored.get(key) !== live.get(key))
      .map((key) => `after a crash of the control plane, ${key} would be ${stored.has(key) ? 'wrong' : 'lost'}`);
  }

  /** Copies files to a new folder. */
  #torn(folder: string, files: readonly string[]): string {
    this.#crashes += 1;
    const copy = join(this.#base, `crash-${this.#crashes}`);
    for (const name of files.flatMap((file) => [file, `${file}-wal`])) {
      if (existsSync(join(folder, name))) cpSync(join(folder, name), join(copy, name));
      if (!name.endsWith('-wal') || !existsSync(join(copy, name))) continue;
      const first = readFileSync(join(copy, name)).subarray(LOG_HEADER, LOG_HEADER + FRAME);
      appendFileSync(join(copy, name), first.subarray(0, Math.floor(this.#random.next() * first.length)));
    }
    return copy;
  }

  remove(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}
