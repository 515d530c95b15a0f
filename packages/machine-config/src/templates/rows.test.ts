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
  ({ metadata: { name: 'c', uid: 'u', generation: 1 }, spec: { platform } }) as unknown as ControllerConfig;
const plan = (stored: readonly MachineConfig[], tree = TREE, platform = 'none') =>
  planTemplates({
    ...{
      tree,
      controllerConfig: controllerConfig(platform),
      identity: { version: 'v', hash: 'h' },
      stampVersion: false,
    },
    ...{ now: '2026-01-01T00:00:00Z', secret: () => undefined },
    machineConfig: (name) => stored.find(({ metadata }) => metadata.name === name),
  });
const names = (configs: readonly MachineConfig[]) => configs.map(({ metadata }) => metadata.name);

test('T2 where all is there and equal nothing is written', () => {
  const { create } = plan([]);
  expect(names(create)).toEqual(['00-worker', '01-worker-kubelet']);
  expect(plan(create)).toMatchObject({ create: [], update: [] });
});

test('T3 the one that is missing is created', () => {
  const [first] = plan([]).create;
  const { create, update } = plan(first ? [first] : []);
  expect([names(create), names(update)]).toEqual([['01-worker-kubelet'], []]);
});

test('T4 the one whose file changed is updated', () => {
  const { create: stored } = plan([]);
  const { create, update } = plan(
    stored,
    new Map([...TREE, ['worker/01-worker-kubelet/_base/files/k.yaml', file('new')]]),
  );
  expect([names(create), names(update)]).toEqual([[], ['01-worker-kubelet']]);
});

test('T6 a platform that nobody knows is rendered as none', () => {
  const unknown = platformOf(controllerConfig('Moonbase'));
  expect(unknown).toEqual({ name: 'none', unknown: 'Moonbase' });
  expect(overlaysOf(controllerConfig('Moonbase'), unknown)).toEqual(['_base', 'none']);
  expect(plan([], TREE, 'Moonbase').create[0]?.spec?.config).toEqual(plan([], TREE, 'none').create[0]?.spec?.config);
});

test('T7 no platform, and the name of the base, are errors', () => {
  expect(plan([], TREE, '').error).toContain('no platformStatus.type is set');
  expect(plan([], TREE, '_base').error).toContain('platform _base unsupported');
});

test('T8 skip keeps a placeholder for somebody else, and takes names only', () => {
  for (const key of ['', '2two', 'test index']) {
    expect(() => fillTemplate('t', '{{ key | skip }}', { key })).toThrow('invalid key for skip');
  }
  expect(fillTemplate('t', '{{ "index" | skip }}', {})).toBe('{{.index}}');
});
