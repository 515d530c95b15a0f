import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { fillTemplate } from './engine.ts';
import { planTemplates } from './plan.ts';
import { overlaysOf, platformOf } from './platform.ts';

const file = (text: string) => `mode: 0644\npath: /etc/f\ncontents:\n  inline: "${text}"\n`;
const TREE = new Map([
  ['worker/00-worker/_base/files/f.yaml', file('{{ platform }}')],
  ['worker/00-worker/none/files/f.yaml', file('of none')],
  ['worker/01-worker-kubelet/_base/files/k.yaml', file('k')],
]);
const controllerConfig = (platform: string): ControllerConfig =>
  partial<ControllerConfig>({ metadata: { name: 'c', uid: 'u', generation: 1 }, spec: { platform } });
const plan = (stored: readonly MachineConfig[], tree = TREE, platform = 'none') =>
  planTemplates({
    tree,
    controllerConfig: controllerConfig(platform),
    identity: { version: 'v', hash: 'h' },
    stampVersion: false,
    now: '2026-01-01T00:00:00Z',
    secret: () => undefined,
    machineConfig: (name) => stored.find(({ metadata }) => metadata.name === name),
  });
const names = (configs: readonly MachineConfig[]) => configs.map(({ metadata }) => metadata.name);

test('correct MachineConfigs are not written [T2]', () => {
  const { create } = plan([]);
  expect(names(create)).toEqual(['00-worker', '01-worker-kubelet']);
  expect(plan(create)).toMatchObject({ create: [], update: [] });
});

test('a missing MachineConfig is created [T3]', () => {
  const [first] = plan([]).create;
  const { create, update } = plan(first ? [first] : []);
  expect([names(create), names(update)]).toEqual([['01-worker-kubelet'], []]);
});

test('a MachineConfig with a changed file is updated [T4]', () => {
  const { create: stored } = plan([]);
  const { create, update } = plan(
    stored,
    new Map([...TREE, ['worker/01-worker-kubelet/_base/files/k.yaml', file('new')]]),
  );
  expect([names(create), names(update)]).toEqual([[], ['01-worker-kubelet']]);
});

test('an unknown platform is rendered as none [T6]', () => {
  const unknown = platformOf(controllerConfig('Moonbase'));
  expect(unknown).toEqual({ name: 'none', unknown: 'Moonbase' });
  expect(overlaysOf(controllerConfig('Moonbase'), unknown)).toEqual(['_base', 'none']);
  expect(plan([], TREE, 'Moonbase').create[0]?.spec?.config).toEqual(plan([], TREE, 'none').create[0]?.spec?.config);
});

test('an absent platform, and the name of the base, are errors [T7]', () => {
  expect(plan([], TREE, '').error).toContain('no platformStatus.type is set');
  expect(plan([], TREE, '_base').error).toContain('platform _base unsupported');
});

test('skip keeps a placeholder for another program, and accepts only names [T8]', () => {
  for (const key of ['', '2two', 'test index']) {
    expect(() => fillTemplate('t', '{{ key | skip }}', { key })).toThrow('invalid key for skip');
  }
  expect(fillTemplate('t', '{{ "index" | skip }}', {})).toBe('{{.index}}');
});
