import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { checkCollisions } from './collisions.ts';
import { RenderError } from './error.ts';
import { mergeMachineConfigs } from './merge.ts';

const config = (name: string, sections: object): MachineConfig =>
  partial<MachineConfig>({
    metadata: { name, labels: {} },
    spec: { config: { ignition: { version: '3.5.0' }, ...sections } },
  });
const file = (path: string) => ({ path, contents: { source: 'data:,x' } });
const files = (...paths: string[]) => ({ storage: { files: paths.map(file) } });
const unit = (name: string, more: object = { contents: '[Unit]' }) => ({ systemd: { units: [{ name, ...more }] } });
const link = (path: string) => ({ storage: { links: [{ path, target: '/opt' }] } });
const directory = (path: string) => ({ storage: { directories: [{ path }] } });

function said(...sections: readonly object[]): readonly (string | undefined)[] | undefined {
  const merged = mergeMachineConfigs(
    sections.map((section, index) => config('ab'[index] ?? 'c', section)),
    { osImageURL: '', extensionsImage: '' },
  );
  try {
    if (merged) checkCollisions(merged.spec.config, merged.sources);
    return undefined;
  } catch (error) {
    if (error instanceof RenderError) return [error.message, error.hint];
    throw error;
  }
}

test.each<[what: string, a: object, b: object, reported: string]>([
  [
    'below a file',
    files('/etc/x'),
    files('/etc/x/y'),
    'file /etc/x/y of MachineConfig b is below file /etc/x of MachineConfig a',
  ],
  [
    'far below a file that comes later',
    files('/etc/x/y/z'),
    files('/etc/x'),
    'file /etc/x/y/z of MachineConfig a is below file /etc/x of MachineConfig b',
  ],
  [
    'below a link',
    link('/etc/l'),
    files('/etc/l/x'),
    'file /etc/l/x of MachineConfig b is below link /etc/l of MachineConfig a',
  ],
  [
    'a directory below a file',
    files('/etc/x'),
    directory('/etc/x/d'),
    'directory /etc/x/d of MachineConfig b is below file /etc/x of MachineConfig a',
  ],
  [
    'where a unit is',
    unit('x.service'),
    files('/etc/systemd/system/x.service'),
    'unit /etc/systemd/system/x.service of MachineConfig a has the same path as file /etc/systemd/system/x.service of MachineConfig b',
  ],
  [
    'where a drop-in is',
    unit('x.service', { dropins: [{ name: '1.conf', contents: '[Unit]' }] }),
    link('/etc/systemd/system/x.service.d/1.conf'),
    'unit /etc/systemd/system/x.service.d/1.conf of MachineConfig a has the same path as link /etc/systemd/system/x.service.d/1.conf of MachineConfig b',
  ],
  [
    'below a unit that is masked',
    unit('x.service', { mask: true }),
    files('/etc/systemd/system/x.service/y'),
    'file /etc/systemd/system/x.service/y of MachineConfig b is below unit /etc/systemd/system/x.service of MachineConfig a',
  ],
])('two MachineConfigs collide: %s, and the error names both', (_what, a, b, reported) => {
  const hint = /^change one of the paths in spec\.config of MachineConfig [ab] or MachineConfig [ab]$/;
  expect(said(a, b)).toEqual([reported, expect.stringMatching(hint)]);
});

test('names that differ only in case, files in a directory, and a unit with its files are allowed', () => {
  expect(said(files('/etc/x', '/etc/X'), files('/etc/xy', '/etc/X.d/a'))).toBeUndefined();
  expect(said(directory('/etc/d'), files('/etc/d/x'))).toBeUndefined();
  expect(said(unit('x.service'), files('/etc/systemd/system/x.service.d/1.conf'))).toBeUndefined();
  expect(said(unit('x.service', { enabled: true }), files('/etc/systemd/system/x.service'))).toBeUndefined();
});

test('the same path in another list is not a collision: the later one replaces it', () => {
  expect(said(files('/etc/x'), directory('/etc/x'))).toBeUndefined();
  expect(said(link('/etc/x'), files('/etc/x'))).toBeUndefined();
});
