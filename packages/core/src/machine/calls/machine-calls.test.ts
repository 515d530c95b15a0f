import { Finalizers, UserDataPlaceholders } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { MachineError } from '../../driver/contract/errors.ts';
import { machine } from '../testing.ts';
import type { CallResult } from './calls.ts';
import { MachineCalls } from './machine-calls.ts';

const VM = { providerId: 'id', nodeName: 'n' };
const onOverdue = (): void => undefined;
const onWaiting = (): void => undefined;
type Answers = Readonly<Record<string, (...args: never[]) => unknown>>;

async function run(call: string, answers: Answers, o: object = {}, options: object = {}) {
  rendered = '';
  const began: unknown[][] = [];
  const asked: unknown[][] = [];
  const invoker = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [
      name,
      async (...args: unknown[]) => {
        asked.push([name, ...args]);
        return answer(...(args as never[]));
      },
    ]),
  );
  let result: Promise<CallResult> | undefined;
  const calls = {
    start: (
      ...[about, kind, inputs, begin]: [unknown, unknown, unknown, (...reported: unknown[]) => Promise<CallResult>]
    ) => {
      began.push([about, kind, inputs]);
      result = begin(onOverdue, onWaiting);
    },
  };
  const caches = { machines: { store: { byIndex: () => [] } }, target: undefined };
  const keptVms = { list: async () => [] };
  const observed = {
    machine: machine(),
    calls: {},
    inputs: 'i',
    hasTarget: true,
    settings: { creationTimeoutMs: 7 },
    ...o,
  };
  const all = { invoker, calls, caches, keptVms, tokens: undefined, ...options };
  new MachineCalls(all as never).start(observed as never, call as never);
  const end = await result?.catch((error: unknown) => error);
  return { asked, began, end, observed };
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const create = (answer: object) => async (_machine: unknown, render: (data: Uint8Array) => Promise<Uint8Array>) => {
  rendered = text(await render(Buffer.from(userData)));
  return answer;
};
let userData = '';
let rendered = '';

describe('a creation', () => {
  test('returns the VM, and its last known state separately', async () => {
    const { asked, began, end, observed } = await run('create', { create: create({ ...VM, lastKnownState: 's' }) });
    expect(began).toEqual([[observed.machine, 'create', 'i']]);
    expect(end).toEqual({ ok: true, instance: VM, lastKnownState: 's' });
    expect(asked[0]?.slice(3)).toEqual([onOverdue, onWaiting]);
    expect((await run('create', { create: create(VM) })).end).toEqual({ ok: true, instance: VM });
  });

  test.each<[what: string, vm: typeof VM, hasTarget: boolean, fails: boolean]>([
    ['without a provider ID', { providerId: '', nodeName: 'n' }, true, true],
    ['without a node name', { providerId: 'id', nodeName: '' }, true, true],
    ['without a node name and a target cluster', { providerId: 'id', nodeName: '' }, false, false],
    ['without both', { providerId: '', nodeName: '' }, false, true],
  ])('%s is a fault of the driver: %#', async (_what, vm, hasTarget, fails) => {
    const { end } = await run('create', { create: create(vm) }, { hasTarget });
    const message = `machine "machine-0": nodeName ("${vm.nodeName}") or providerID ("${vm.providerId}") is empty after creation flow`;
    expect(end instanceof MachineError ? [end.code, end.message] : end).toEqual(
      fails ? ['Internal', message] : { ok: true, instance: vm },
    );
  });

  test.each<[data: string, hasTokens: boolean, wanted: string, ensured: number]>([
    [`name=${UserDataPlaceholders.MachineName}`, true, 'name=machine-0', 0],
    [`${UserDataPlaceholders.BootstrapToken} ${UserDataPlaceholders.MachineName}`, true, 'a.b machine-0', 1],
    [
      `${UserDataPlaceholders.BootstrapToken} ${UserDataPlaceholders.MachineName}`,
      false,
      `${UserDataPlaceholders.BootstrapToken} machine-0`,
      0,
    ],
  ])('renders the user data %j', async (data, hasTokens, wanted, ensured) => {
    const made: unknown[][] = [];
    const ensure = async (...args: unknown[]) => {
      made.push(args);
      return 'a.b';
    };
    userData = data;
    const { observed } = await run('create', { create: create(VM) }, {}, hasTokens ? { tokens: { ensure } } : {});
    expect(rendered).toBe(wanted);
    expect(made).toEqual(ensured > 0 ? [[observed.machine, 7]] : []);
  });
});

test('an initialization returns the VM', async () => {
  const { asked, end, observed } = await run('initialize', { initialize: () => VM });
  expect([asked, end]).toEqual([[['initialize', observed.machine, onOverdue]], { ok: true, instance: VM }]);
});

describe('a lookup', () => {
  const recorded = machine({ spec: { providerID: 'id' } });
  test.each<[what: string, found: object, result: object]>([
    ['of a recorded VM', VM, { ok: true, instance: VM }],
    ['of a VM that ends', { ...VM, ending: 'stopping' }, { ok: true, instance: VM, ending: 'stopping' }],
  ])('%s', async (_what, found, result) => {
    const { asked, end } = await run('status', { status: () => found }, { machine: recorded });
    expect(end).toEqual(result);
    expect(asked).toEqual([['status', recorded, onOverdue]]);
  });

  const dying = machine({
    metadata: { deletionTimestamp: '2026-01-01T12:00:00Z', finalizers: [Finalizers.MachineControllerManager] },
  });
  test.each<[what: string, of: object, isFault: boolean]>([
    ['a machine that is not being deleted', machine(), true],
    ['one that is being deleted', dying, false],
  ])('of an unrecorded VM without a node name for %s', async (_what, of, isFault) => {
    const { end } = await run('status', { status: () => ({ providerId: 'id', nodeName: '' }) }, { machine: of });
    expect(end instanceof MachineError).toBe(isFault);
  });

  test('a lookup of an unrecorded VM returns it', async () => {
    expect((await run('status', { status: () => VM })).end).toEqual({ ok: true, instance: VM });
  });
});

describe('a deletion', () => {
  const created = { providerId: 'made', nodeName: 'n' };
  test.each<[what: string, providerID: string | undefined, calls: object, deletes: string | undefined]>([
    ['of the recorded VM', 'id', { created }, 'id'],
    ['of a VM that was created but not recorded', undefined, { created }, 'made'],
    ['of a VM that may exist', undefined, {}, undefined],
  ])('%s', async (_what, providerID, calls, deletes) => {
    const of = machine(providerID ? { spec: { providerID } } : {});
    const { asked, end } = await run('delete', { delete: () => undefined }, { machine: of, calls });
    const wanted = { ...of, spec: { ...of.spec, ...(deletes === undefined ? {} : { providerID: deletes }) } };
    expect(asked).toEqual([['delete', wanted, onOverdue]]);
    expect(end).toEqual({ ok: true });
  });

  test('returns the last known state', async () => {
    expect((await run('delete', { delete: () => ({ lastKnownState: 's' }) })).end).toEqual({
      ok: true,
      lastKnownState: 's',
    });
    expect((await run('delete', { delete: () => ({}) })).end).toEqual({ ok: true });
  });
});

test('an unknown call is a fault', async () => {
  expect(String((await run('reboot', {})).end)).toContain('not handled: "reboot"');
});
