import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { controllerNames } from '../controllers/index.ts';
import { startControlPlane } from '../plane.ts';

/**
 * `pnpm battery` sends recorded requests, and compares the responses with the responses of a real kube-apiserver.
 * Without `--server`, `--kubeconfig` or `--handler`, the program starts the embedded control plane and sends the
 * requests over HTTPS. The program passes all other flags to the runner (`--cases`, `--filter`, …).
 */
const RUNNER = fileURLToPath(new URL('../../testdata/battery/replay.mjs', import.meta.url));

const controllers = controllerNames.filter((name) => name !== 'scheduler');

function replay(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [RUNNER, ...args], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

async function replayEmbedded(args: readonly string[]): Promise<number> {
  const plane = await startControlPlane({ port: 0, controllers });
  const folder = mkdtempSync(join(tmpdir(), 'battery-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, plane.kubeconfig(), { mode: 0o600 });
  try {
    return await replay(['--kubeconfig', kubeconfig, ...args]);
  } finally {
    rmSync(folder, { recursive: true });
    await plane.close();
  }
}

const args = process.argv.slice(2).filter((argument) => argument !== '--');
const elsewhere = ['--server', '--kubeconfig', '--handler', '--list', '--help', '-h'];
const status = args.some((argument) => elsewhere.includes(argument)) ? await replay(args) : await replayEmbedded(args);
process.exit(status);
