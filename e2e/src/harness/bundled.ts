import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ROOT } from './mcm.ts';

export interface Bundled {
  readonly file: (name: string) => string;
  readonly remove: () => void;
}

/** Bundles programs in a separate process, because the bundler needs much memory. */
export async function bundled(names: readonly string[]): Promise<Bundled> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-bundles-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const bundler = join(ROOT, 'tools/src/bundle/main.ts');
  try {
    await promisify(execFile)(process.execPath, ['--conditions=source', bundler, '--into', folder, ...names]);
  } catch (error) {
    remove();
    throw error;
  }
  return { file: (name) => join(folder, name, 'dist/main.js'), remove };
}

const SPECIFIERS: Readonly<Record<string, string>> = {
  '@mcm/control-plane/main': 'control-plane',
  '@mcm/provider-local/cloud/main': 'local-cloud',
  '@mcm/provider-local/main': 'machine-controller-local',
  '@mcm/machine-controller-manager/main': 'machine-controller-manager',
};

export const LOCAL_PROGRAMS: readonly string[] = Object.values(SPECIFIERS);

/** Returns a replacement for `import.meta.resolve`, which would find source files instead of bundles. */
export const resolverOf =
  ({ file }: Bundled) =>
  (module: string): string =>
    pathToFileURL(file(SPECIFIERS[module] ?? module)).href;
