import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Programs that some tests start. If a program is not installed, its tests are skipped. */
const PROGRAMS = [
  ...['kubectl', 'helm', 'jq', 'promtool', 'bash', 'zsh', 'fish'],
  ...['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
];

const ASSETS = ['kube-apiserver', 'kube-controller-manager', 'etcd'];

/** Returns the size and the time of an executable file, which change with its version. */
function stampOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? `${path} ${stats.size} ${stats.mtimeMs}` : undefined;
}

/**
 * Returns a key of the inputs of tests that turbo does not include: Node.js, and the installed programs. When one of
 * them is installed, updated or removed, the key changes and turbo repeats the tests.
 */
export function programsKey(env: Readonly<Record<string, string | undefined>>): string {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = PROGRAMS.map((name) => folders.flatMap((folder) => stampOf(join(folder, name)) ?? [])[0] ?? 'absent');
  const chosen = env.MCM_CHROMIUM === undefined ? [] : [stampOf(env.MCM_CHROMIUM) ?? 'absent'];
  const assets = env.KUBEBUILDER_ASSETS;
  const server = assets === undefined ? [] : ASSETS.map((name) => stampOf(join(assets, name)) ?? 'absent');
  const all = [process.version, process.platform, process.arch, ...found, ...chosen, ...server];
  return createHash('sha256').update(all.join('\n')).digest('hex').slice(0, 16);
}
