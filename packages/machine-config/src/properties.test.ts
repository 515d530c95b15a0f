import { partial } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderPool } from './config/render/render.ts';
import type { MachineConfig } from './kinds/machine-config.ts';

/** Random inputs verify the rules of rendering. */

const runs = (count: number) => ({
  numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? count),
  endOnFailure: true,
});

const text = fc.constantFrom('a', 'b', 'c', 'd');
const file = fc.record({ path: text.map((name) => `/etc/${name}`), source: text.map((data) => `data:,${data}`) });
const machineConfig = fc.record({
  role: fc.constantFrom('worker', 'infra'),
  files: fc.uniqueArray(file, { maxLength: 3, selector: ({ path }) => path }),
  units: fc.uniqueArray(text, { maxLength: 2 }),
  kernelArguments: fc.array(text, { maxLength: 2 }),
});

/** The cache contains results of the first render, so the second render uses copies of the MachineConfigs. */
const inTwoOrders = fc.array(machineConfig, { minLength: 1, maxLength: 8 }).chain((all) => {
  const configs = all.map(({ role, files, units, kernelArguments }, index) => ({
    metadata: {
      name: `${String((index * 37) % 100).padStart(2, '0')}-x`,
      labels: { 'machineconfiguration.openshift.io/role': role },
    },
    spec: {
      kernelArguments,
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: files.map(({ path, source }) => ({ path, contents: { source } })) },
        systemd: { units: units.map((name) => ({ name: `${name}.service`, contents: `[Unit]\n#${index}\n` })) },
      },
    },
  }));
  return fc.tuple(fc.constant(configs), fc.shuffledSubarray(configs, { minLength: configs.length }));
});

const render = (configs: readonly object[]): string =>
  JSON.stringify(
    renderPool(
      partial<Parameters<typeof renderPool>[0]>({
        pool: { metadata: { name: 'worker', uid: 'u' }, spec: {} },
        controllerConfig: {
          metadata: { annotations: { 'machineconfiguration.openshift.io/generated-by-version': 'v1' } },
          spec: {},
        },
        configs: structuredClone(configs) as MachineConfig[],
        identity: { version: 'v1', hash: 'h' },
      }),
    ).machineConfig,
  );

const givesTheSameBytes = (rendering: typeof render) =>
  fc.property(inTwoOrders, ([ordered, shuffled]) => {
    expect(rendering(shuffled)).toBe(rendering(ordered));
  });

test('rendering gives the same bytes for any order of its inputs', () => {
  fc.assert(givesTheSameBytes(render), runs(300));
});

test('the test fails for a render that depends on the order of the MachineConfigs', () => {
  const named = (configs: readonly object[]) =>
    configs.map((config, index) => ({
      ...(config as MachineConfig),
      metadata: { ...(config as MachineConfig).metadata, name: `${index}` },
    }));
  expect(
    fc.check(
      givesTheSameBytes((configs) => render(named(configs))),
      runs(100),
    ).failed,
  ).toBe(true);
});
