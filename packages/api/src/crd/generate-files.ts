import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';
import { crdFileName, crdYaml } from './yaml.ts';

/** The CRDs to generate as files, and the target directory. */
export interface GenerateOptions {
  /** The CRDs of one API group. Files of other groups in the directory stay unchanged. */
  readonly crds: readonly CustomResourceDefinition[];
  readonly directory: string;
  /** The package that contains the schemas, for the heading of each generated file. */
  readonly source: string;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes the CRDs of an API group as files. With `--check`, `generateCrdFiles` only lists the outdated files.
 * @returns the exit code: 0 for success, 1 for outdated or surplus files, 2 for an unknown argument
 */
export function generateCrdFiles({ crds, directory, source }: GenerateOptions, args: readonly string[]): number {
  const unknown = args.find((argument) => argument !== '--check');
  if (unknown !== undefined) {
    process.stderr.write(`generate: unknown argument ${unknown}; the only argument is --check\n`);
    return 2;
  }
  const wanted = new Map(crds.map((crd) => [crdFileName(crd), crdYaml(crd, source)]));
  const groups = new Set(crds.map((crd) => crd.spec.group));
  mkdirSync(directory, { recursive: true });
  const stale = [...wanted].filter(([name, text]) => read(join(directory, name)) !== text).map(([name]) => name);
  const ofGroup = (name: string) => name.endsWith('.yaml') && groups.has(name.slice(0, Math.max(0, name.indexOf('_'))));
  const left = readdirSync(directory).filter((name) => ofGroup(name) && !wanted.has(name));
  if (args.includes('--check')) return report(stale, left);
  for (const name of stale) writeFileSync(join(directory, name), wanted.get(name) ?? '');
  process.stdout.write(`generate: ${stale.length} of ${wanted.size} files of ${source} written to deploy/crds\n`);
  return 0;
}

function report(stale: readonly string[], left: readonly string[]): number {
  for (const name of stale) process.stderr.write(`deploy/crds/${name} is stale: run pnpm generate\n`);
  for (const name of left) process.stderr.write(`deploy/crds/${name} belongs to no resource kind: remove it\n`);
  return stale.length + left.length === 0 ? 0 : 1;
}
