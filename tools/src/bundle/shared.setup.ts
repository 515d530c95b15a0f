import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../root.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of a server that returns the folder of all bundled programs, see `shared.ts`. */
    bundles: string;
  }
}

/**
 * The folder in which the turbo task `programs` writes all bundled programs. If a turbo task needs the programs, it
 * depends on the task `programs`.
 */
const BUILT = join(ROOT, 'tools/node_modules/.cache/programs');

/**
 * Starts a server that bundles all programs once for all test files. Without a shared folder, each test file that
 * starts programs would bundle them again. In a turbo task, the bundles of the task `programs` are copied instead.
 */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  let folder: string | undefined;
  let made: Promise<string> | undefined;
  const ended = new AbortController();
  const make = async (): Promise<string> => {
    // The folder is outside of every node_modules folder, so that a bundle with a missing package fails.
    folder = await mkdtemp(join(tmpdir(), 'mcm bundles '));
    if (process.env.TURBO_HASH !== undefined) {
      await cp(BUILT, folder, { recursive: true });
      return folder;
    }
    const main = join(ROOT, 'tools/src/bundle/main.ts');
    await promisify(execFile)(process.execPath, ['--conditions=source', main, '--into', folder], {
      signal: ended.signal,
    });
    return folder;
  };
  const server = createServer((_request, response) => {
    made ??= make();
    made.then(
      (path) => response.end(path),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  provide('bundles', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    ended.abort();
    await made?.catch(() => undefined); // The requests have already reported this error.
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
}
