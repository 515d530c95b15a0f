import { Annotations, type Machine, type MachineClass, type MachineDeployment, type MachineSet } from '@mcm/api';
import { expect, test } from 'vitest';
import { type CostInput, costsOf } from './cost.ts';

const { HourlyPrice, Quota } = Annotations;
const meta = (name: string) => ({
  name,
  namespace: 'default',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});
const API = 'machine.sapcloud.io/v1alpha1';
const template = (name: string) => ({ spec: { class: { kind: 'MachineClass', name } } });
const deployment: MachineDeployment = {
  apiVersion: API,
  kind: 'MachineDeployment',
  metadata: meta('workers'),
  spec: { replicas: 2, selector: {}, template: template('large') },
};
const old: MachineSet = {
  apiVersion: API,
  kind: 'MachineSet',
  metadata: meta('workers-old'),
  spec: { replicas: 2, selector: {}, template: template('small') },
};
const owner = { apiVersion: API, kind: 'MachineSet', name: 'workers-old', uid: 'uid-workers-old', controller: true };
const machine = (name: string, machineClass = 'small', owned = true): Machine => ({
  apiVersion: API,
  kind: 'Machine',
  metadata: { ...meta(name), ownerReferences: owned ? [owner] : [] },
  spec: { class: { kind: 'MachineClass', name: machineClass } },
});
const priced = (name: string, annotations: Record<string, string>): MachineClass => ({
  apiVersion: API,
  kind: 'MachineClass',
  metadata: { ...meta(name), annotations },
  providerSpec: {},
});

const make = (name: string, afterMs: number) =>
  ({ afterMs, action: 'make', name, set: 'workers-new', because: '' }) as const;
const remove = (name: string, afterMs: number) =>
  ({ afterMs, action: 'delete', name, set: 'workers-old', because: '' }) as const;
const input: CostInput = {
  deployment,
  sets: [old],
  fleet: [machine('m-0'), machine('m-1'), machine('x-0', 'large', false)],
  classes: [priced('small', { [HourlyPrice]: '0.1 USD' }), priced('large', { [HourlyPrice]: '0.3 USD' })],
  steps: [make('n-0', 0), remove('m-0', 100), make('n-1', 100), remove('m-1', 200)],
  gone: () => 50,
  warmMs: 30,
};

test('the costs contain the surge, and deleted machines until their VMs are gone', () => {
  expect(costsOf(input)).toEqual({
    text: '0.2 USD per hour now, at most 0.8 USD per hour during the plan, 0.6 USD per hour at the end',
    shortages: [],
    remarks: [],
  });
  expect(costsOf({ ...input, gone: () => Number.POSITIVE_INFINITY }).text).toMatch(/0.8 USD per hour at the end$/);
});

test('without prices and quotas, the plan has no costs', () => {
  const classes = [priced('small', {}), priced('large', {})];
  expect(costsOf({ ...input, classes })).toEqual({ text: undefined, shortages: [], remarks: [] });
});

test.each([
  ['3', []],
  [
    '2',
    ['MachineClass large: the plan needs 3 machines at the same time, but capacity.machine.sapcloud.io/quota is 2'],
  ],
])('with a quota of %s, machines of other deployments count', (quota, shortages) => {
  const classes = [priced('small', { [Quota]: '1' }), priced('large', { [Quota]: quota })];
  // The quota of the class small is not reported, because the plan creates no machine of the class small.
  expect(costsOf({ ...input, classes }).shortages).toEqual(shortages);
});

test.each([
  ['0,1 USD', '5', [/ignores \S+hourly-price "0,1 USD"/]],
  ['1 USD', 'ten', [/ignores \S+quota "ten"/]],
])('an invalid value is reported and ignored: price %s, quota %s', (price, quota, remarks) => {
  const classes = [
    priced('small', { [HourlyPrice]: '1 USD' }),
    priced('large', { [HourlyPrice]: price, [Quota]: quota }),
  ];
  const found = costsOf({ ...input, classes });
  expect(found.remarks).toEqual(remarks.map((each) => expect.stringMatching(each)));
  expect(found.shortages).toEqual([]);
});

test('the costs omit classes without a price, and are unknown with different currencies', () => {
  const some = [priced('small', {}), priced('large', { [HourlyPrice]: '1' })];
  expect(costsOf({ ...input, classes: some })).toMatchObject({
    text: '0 per hour now, at most 2 per hour during the plan, 2 per hour at the end',
    remarks: ['the costs do not include machines of MachineClass small'],
  });
  const mixed = [priced('small', { [HourlyPrice]: '1 EUR' }), priced('large', { [HourlyPrice]: '1 USD' })];
  expect(costsOf({ ...input, classes: mixed }).text).toBe(
    'unknown, because the prices have different currencies: EUR, USD',
  );
});

test('a stopped warm machine costs nothing until a set uses the machine, and a new warm machine costs until its stop', () => {
  const warm = (name: string, power?: string): Machine => {
    const annotations = { [Annotations.WarmState]: 'Stopped', ...(power && { [Annotations.WarmPower]: power }) };
    const ownerReferences = [{ ...owner, kind: 'MachineDeployment', name: 'workers', uid: 'uid-workers' }];
    return { ...machine(name), metadata: { ...meta(name), annotations, ownerReferences } };
  };
  const settings = (state: string) => ({ [Annotations.WarmMachines]: '1', [Annotations.WarmState]: state });
  const given = (state: string, fleet: readonly Machine[]): CostInput => ({
    ...input,
    deployment: { ...deployment, metadata: { ...meta('workers'), annotations: settings(state) } },
    fleet,
    steps: [
      { afterMs: 0, action: 'use warm', name: 'w-0', set: 'workers-old', because: '' },
      { afterMs: 0, action: 'make warm', name: 'workers-old-w<1>', set: 'workers-old', because: '' },
    ],
  });
  const stopped = given('Stopped', [machine('m-0'), warm('w-0', 'Stopped')]);
  expect(costsOf(stopped).text).toBe(
    '0.1 USD per hour now, at most 0.3 USD per hour during the plan, 0.2 USD per hour at the end',
  );
  expect(costsOf(given('Running', [machine('m-0'), warm('w-0')])).text).toBe(
    '0.2 USD per hour now, at most 0.3 USD per hour during the plan, 0.3 USD per hour at the end',
  );
  const quota = [priced('small', { [Quota]: '2' })];
  expect(costsOf({ ...stopped, classes: quota }).shortages).toEqual([expect.stringContaining('needs 3 machines')]);
  const removal = [{ afterMs: 0, action: 'delete warm', name: 'w-0', set: 'workers-old', because: '' } as const];
  expect(costsOf({ ...stopped, steps: removal }).text).toMatch(/^0.1 USD .* 0.1 USD per hour at the end$/);
});
