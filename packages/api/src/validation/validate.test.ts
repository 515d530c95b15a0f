import { describe, expect, test } from 'vitest';
import { defaultMachineDeployment } from '../kinds/defaults.ts';
import type { MachineDeployment } from '../kinds/machine-deployment.ts';
import {
  badManifests,
  classManifest,
  deploymentManifest,
  goodManifests,
  type Manifest,
  machineManifest,
  setManifest,
} from '../testing/manifests.ts';
import { type FieldError, formatFieldErrors } from './field-error.ts';
import { validateMachine, validateMachineClass, validateMachineDeployment, validateMachineSet } from './validate.ts';

const VALIDATORS: Readonly<Record<string, (object: unknown) => FieldError[]>> = {
  Machine: validateMachine,
  MachineSet: validateMachineSet,
  MachineDeployment: validateMachineDeployment,
  MachineClass: validateMachineClass,
};

function validate(manifest: Manifest): FieldError[] {
  const validator = VALIDATORS[String(manifest.kind)];
  if (!validator) throw new Error(`no validation of ${String(manifest.kind)}`);
  return validator(manifest);
}

const defaulted = (manifest: Manifest): Manifest =>
  manifest.kind === 'MachineDeployment'
    ? { ...defaultMachineDeployment(manifest as unknown as MachineDeployment) }
    : manifest;

test.each(goodManifests.map(({ title, object }) => [title, object] as const))('accepts %s', (_title, object) => {
  expect(validate(defaulted(object))).toEqual([]);
});

test.each(badManifests.map(({ title, object, path }) => [title, object, path] as const))(
  'refuses %s',
  (_title, object, path) => {
    const errors = validate(object);
    expect(errors.map((error) => error.path)).toEqual([expect.stringContaining(path)]);
    expect(errors[0]?.message).toMatch(/must/);
  },
);

const rolling = (rollingUpdate: Manifest): Manifest =>
  deploymentManifest({ strategy: { type: 'RollingUpdate', rollingUpdate } });
const inPlace = (inPlaceUpdate: Manifest): Manifest =>
  deploymentManifest({ strategy: { type: 'InPlaceUpdate', inPlaceUpdate } });
const template = (change: Manifest): Manifest => ({
  template: {
    metadata: { labels: { app: 'pool' } },
    spec: { class: { kind: 'MachineClass', name: 'small' }, ...change },
  },
});

describe("the original's rules", () => {
  const auto = 'Auto';
  test.each<[rule: string, manifest: Manifest, path: string, type: FieldError['type']]>([
    [
      'machine class kind',
      machineManifest({ class: { kind: '', name: 'a' } }),
      'spec.class.kind',
      'FieldValueRequired',
    ],
    ['machine class name', machineManifest({ class: { kind: 'a' } }), 'spec.class.name', 'FieldValueRequired'],
    ['set replicas', setManifest({ replicas: -1 }), 'spec.replicas', 'FieldValueInvalid'],
    [
      'set selector',
      setManifest({ selector: { matchLabels: { app: 'x' } } }),
      'spec.selector.matchLabels',
      'FieldValueRequired',
    ],
    [
      'set class kind',
      setManifest(template({ class: { name: 'a' } })),
      'spec.template.spec.class.kind',
      'FieldValueRequired',
    ],
    [
      'set class name',
      setManifest(template({ class: { kind: 'a', name: '' } })),
      'spec.template.spec.class.name',
      'FieldValueRequired',
    ],
    ['replicas', deploymentManifest({ replicas: -1 }), 'spec.replicas', 'FieldValueInvalid'],
    [
      'strategy type',
      deploymentManifest({ strategy: { type: 'Dummy' } }),
      'spec.strategy.type',
      'FieldValueNotSupported',
    ],
    ['strategy type given', deploymentManifest({ strategy: {} }), 'spec.strategy.type', 'FieldValueRequired'],
    [
      'rollingUpdate given',
      deploymentManifest({ strategy: { type: 'RollingUpdate' } }),
      'spec.strategy.rollingUpdate',
      'FieldValueRequired',
    ],
    [
      'rolling maxUnavailable given',
      rolling({ maxSurge: 1 }),
      'spec.strategy.rollingUpdate.maxUnavailable',
      'FieldValueRequired',
    ],
    [
      'rolling maxUnavailable form',
      rolling({ maxSurge: 1, maxUnavailable: '10' }),
      'spec.strategy.rollingUpdate.maxUnavailable',
      'FieldValueInvalid',
    ],
    [
      'rolling maxSurge given',
      rolling({ maxUnavailable: 1 }),
      'spec.strategy.rollingUpdate.maxSurge',
      'FieldValueRequired',
    ],
    [
      'rolling maxSurge form',
      rolling({ maxSurge: 'ten', maxUnavailable: 1 }),
      'spec.strategy.rollingUpdate.maxSurge',
      'FieldValueInvalid',
    ],
    [
      'inPlaceUpdate given',
      deploymentManifest({ strategy: { type: 'InPlaceUpdate' } }),
      'spec.strategy.inPlaceUpdate',
      'FieldValueRequired',
    ],
    [
      'in-place maxUnavailable given',
      inPlace({ maxSurge: 1, orchestrationType: auto }),
      'spec.strategy.inPlaceUpdate.maxUnavailable',
      'FieldValueRequired',
    ],
    [
      'in-place maxSurge given',
      inPlace({ maxUnavailable: 1, orchestrationType: auto }),
      'spec.strategy.inPlaceUpdate.maxSurge',
      'FieldValueRequired',
    ],
    [
      'orchestration',
      inPlace({ maxSurge: 1, maxUnavailable: 1, orchestrationType: 'x' }),
      'spec.strategy.inPlaceUpdate.orchestrationType',
      'FieldValueNotSupported',
    ],
    [
      'deployment selector',
      deploymentManifest({ selector: { matchLabels: { app: 'x' } } }),
      'spec.selector.matchLabels',
      'FieldValueRequired',
    ],
    [
      'deployment class kind',
      deploymentManifest(template({ class: { kind: '', name: 'a' } })),
      'spec.template.spec.class.kind',
      'FieldValueRequired',
    ],
    [
      'deployment class name',
      deploymentManifest(template({ class: { kind: 'a', name: '' } })),
      'spec.template.spec.class.name',
      'FieldValueRequired',
    ],
    [
      'class capacity',
      classManifest({ capacity: { cpu: 1, gpu: 0 } }),
      'nodeTemplate.capacity.memory',
      'FieldValueRequired',
    ],
    ['class instance type', classManifest({ instanceType: '' }), 'nodeTemplate.instanceType', 'FieldValueInvalid'],
    ['class region', classManifest({ region: '' }), 'nodeTemplate.region', 'FieldValueInvalid'],
    ['class zone', classManifest({ zone: '' }), 'nodeTemplate.zone', 'FieldValueInvalid'],
  ])('%s', (_rule, manifest, path, type) => {
    expect(validate(manifest)).toEqual([expect.objectContaining({ path, type })]);
  });
});

test('a node template with cpu, gpu, memory, region, zone and type is valid [S-K6]', () => {
  const capacity = { cpu: 2, gpu: 0, memory: '4Gi' };
  expect(validate(classManifest({ capacity, region: 'r', zone: 'z', instanceType: 't' }))).toEqual([]);
});

test('all errors are collected, each field once', () => {
  const errors = validate(
    deploymentManifest({
      replicas: -1,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '10', maxUnavailable: '101%' } },
      selector: { matchLabels: { app: 'other' } },
      ...template({ class: { kind: '', name: '' }, drainTimeout: 'soon' }),
    }),
  );
  expect(errors.map(({ path }) => path).sort()).toEqual([
    'spec.replicas',
    'spec.selector.matchLabels',
    'spec.strategy.rollingUpdate.maxSurge',
    'spec.strategy.rollingUpdate.maxUnavailable',
    'spec.template.spec.class.kind',
    'spec.template.spec.class.name',
    'spec.template.spec.drainTimeout',
  ]);
});

test.each(['101%', '999999%'])('a surge of %s: a percentage over 100 is refused', (maxSurge) => {
  const errors = validate(
    deploymentManifest({
      replicas: 1_000_000,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: 0 } },
    }),
  );
  expect(errors).toEqual([expect.objectContaining({ path: 'spec.strategy.rollingUpdate.maxSurge' })]);
});

test.each([undefined, null, 'text', 7, [], {}, { spec: null }, { spec: [] }])(
  '%j is refused without an exception',
  (object) => {
    for (const validator of Object.values(VALIDATORS)) expect(validator(object)).not.toEqual([]);
  },
);

test('a set as the original writes it is valid: no replicas, an empty class reference, an empty node spec', () => {
  const set = setManifest(template({ nodeTemplate: { metadata: { labels: { gen: '1' } }, spec: {} } }));
  const { replicas, ...spec } = set.spec as Manifest;
  expect(replicas).toBe(3);
  expect(validate({ ...set, spec })).toEqual([]);
});

test('errors are formatted as one sentence', () => {
  expect(formatFieldErrors(validate(deploymentManifest({ replicas: -1, strategy: {} })))).toBe(
    'spec.replicas: must be 0 or more; spec.strategy.type: must be one of InPlaceUpdate, Recreate, RollingUpdate',
  );
});
