import { DaemonPaths } from '../../config/daemon-paths.ts';

/** Returns the links that systemd creates for an enabled unit. */
export function installLinks(name: string, contents: string): readonly string[] {
  const links: string[] = [];
  let inInstall = false;
  for (const raw of contents.split('\n')) {
    const line = raw.trim();
    if (line.startsWith('[')) inInstall = line === '[Install]';
    if (!inInstall) continue;
    const [, key, values = ''] = /^(WantedBy|RequiredBy|Alias)\s*=\s*(.*)$/.exec(line) ?? [];
    for (const value of values.split(/\s+/).filter((one) => one !== '')) {
      if (key === 'Alias') links.push(`${DaemonPaths.Units}/${value}`);
      else links.push(`${DaemonPaths.Units}/${value}.${key === 'WantedBy' ? 'wants' : 'requires'}/${name}`);
    }
  }
  return links;
}
