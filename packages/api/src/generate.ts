import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crds } from './crd/crds.ts';
import { crdFileName, crdYaml } from './crd/yaml.ts';

/** Writes `deploy/crds`, or with `--check` says which of its files are stale and exits 1. */

const DIRECTORY = fileURLToPath(new URL('../../../deploy/crds/', import.meta.url));

/** A file's text, or undefined if there is none. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function main(args: readonly string[]): number {
  const unknown = args.find((argument) => argument !== '--check');
  if (unknown !== undefined) {
    process.stderr.write(`generate: unknown argument ${unknown}; the only one is --check\n`);
    return 2;
  }
  const wanted = new Map(crds.map((crd) => [crdFileName(crd), crdYaml(crd)]));
  mkdirSync(DIRECTORY, { recursive: true });
  const stale = [...wanted].filter(([name, text]) => read(join(DIRECTORY, name)) !== text).map(([name]) => name);
  const left = readdirSync(DIRECTORY).filter((name) => name.endsWith('.yaml') && !wanted.has(name));
  if (args.includes('--check')) return report(stale, left);
  for (const name of stale) writeFileSync(join(DIRECTORY, name), wanted.get(name) ?? '');
  process.stdout.write(`generate: ${stale.length} of ${wanted.size} files written to deploy/crds\n`);
  return 0;
}

function report(stale: readonly string[], left: readonly string[]): number {
  for (const name of stale) process.stderr.write(`deploy/crds/${name} is stale: run pnpm generate\n`);
  for (const name of left) process.stderr.write(`deploy/crds/${name} belongs to no kind: remove it\n`);
  return stale.length + left.length === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
