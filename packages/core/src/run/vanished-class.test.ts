import { Annotations, type MachineClass, machineClasses } from '@mcm/api';
import { events, secrets, sleep, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const classes = (rig: Rig) => rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);
const secretsOf = (rig: Rig) => rig.admin.resource(secrets, NAMESPACE);
const isNoted = async (rig: Rig): Promise<boolean> =>
  (await rig.machine('m-0'))?.metadata.annotations?.[Annotations.NoCreateCall] === 'true';
const gone = (rig: Rig) => rig.until(async () => (await rig.machines()).length === 0, MINUTE);
const unknownVms = async (rig: Rig): Promise<number> =>
  (await rig.admin.resource(events).list()).items.filter(({ reason }) => reason === 'VMUnknown').length;

function collectNotes(): { readonly notes: string[]; readonly wrap: (transport: Transport) => Transport } {
  const notes: string[] = [];
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      const body = String(request.body ?? '');
      if (body.includes(Annotations.NoCreateCall)) notes.push(body);
      return transport(request);
    };
  return { notes, wrap };
}

async function withFreshClass(options: StartOptions = {}): Promise<Rig> {
  const rig = await startRig({ eventTtlMs: 0, joinAfterMs: undefined, ...options });
  await rig.kill();
  await rig.createClass('fresh');
  await rig.createMachine('m-0', { class: { kind: 'MachineClass', name: 'fresh' } });
  return rig;
}

const finalizers =
  (kind: 'machineclasses' | 'secrets', answer: (transport: Transport) => Transport) =>
  (transport: Transport): Transport => {
    const changed = answer(transport);
    return (request) =>
      request.method === 'PATCH' && request.path.includes(`/${kind}/`) ? changed(request) : transport(request);
  };

const refuse = (): Transport => () =>
  Promise.resolve(new Response('{"kind":"Status","code":422,"reason":"Invalid"}', { status: 422 }));

const withRoles =
  (transport: Transport): Transport =>
  (request) =>
    request.method === 'GET' && /\/(machineclasses|secrets)\//.test(request.path)
      ? Promise.resolve(new Response('{"kind":"Status","code":403,"reason":"Forbidden"}', { status: 403 }))
      : transport(request);

test.each([
  ['class', (rig: Rig) => classes(rig).delete('fresh')],
  ['Secret', (rig: Rig) => secretsOf(rig).delete('fresh')],
])('a machine is deleted at once if its %s vanished before a controller saw the machine', async (_what, vanish) => {
  const rig = await withFreshClass({ wrap: withRoles });
  await vanish(rig);
  await rig.deleteMachine('m-0');
  rig.start();
  await gone(rig);
  expect([await unknownVms(rig), rig.cloud.calls.create, rig.cloud.calls.delete]).toEqual([0, 0, 0]);
});

test('a machine whose class vanished is noted before its status is written, so a later deletion ends', async () => {
  const { notes, wrap } = collectNotes();
  const rig = await withFreshClass({ wrap });
  await classes(rig).delete('fresh');
  rig.start();
  await rig.until(async () => (await rig.phase('m-0')) === 'CrashLoopBackOff', MINUTE);
  // Another process may have called the cloud since the observation.
  expect(notes).toEqual([expect.stringContaining('"resourceVersion":')]);
  await rig.kill();
  await rig.deleteMachine('m-0');
  rig.start();
  await gone(rig);
  expect(await unknownVms(rig)).toBe(0);
});

test.each(['machineclasses', 'secrets'])(
  'an outdated cache of %s does not prove that the machine has no VM',
  async (kind) => {
    let outdated = false;
    const { notes, wrap } = collectNotes();
    const rig: Rig = await startRig({
      eventTtlMs: 0,
      joinAfterMs: undefined,
      wrap: (inner) => async (request) => {
        const transport = wrap(inner);
        const isWatch = request.path.includes('watch=');
        if (!outdated || request.method !== 'GET' || !request.path.includes(`/${kind}?`)) return transport(request);
        if (isWatch) {
          outdated = false;
          await sleep(rig.clock, 5_000, request.signal);
          return transport(request);
        }
        const answer = await transport(request);
        const { metadata, ...list } = JSON.parse(await answer.text());
        return new Response(JSON.stringify({ ...list, metadata: { ...metadata, resourceVersion: '1' }, items: [] }));
      },
    });
    await rig.kill();
    await rig.createClass('fresh');
    await rig.createMachine('m-0', { class: { kind: 'MachineClass', name: 'fresh' } });
    await rig.deleteMachine('m-0');
    outdated = true;
    rig.start();
    await gone(rig);
    await rig.clock.advance(MINUTE);
    expect([rig.cloud.calls.delete, notes]).toEqual([1, []]);
  },
);

test('a machine with an operation in its status may have a VM, so its deletion waits for the class', async () => {
  const rig = await withFreshClass({ wrap: finalizers('machineclasses', refuse) });
  rig.cloud.fail('create', { code: 'Unavailable', after: true });
  rig.start();
  await rig.until(async () => rig.cloud.vms.length === 1, MINUTE);
  await rig.kill();
  await classes(rig).delete('fresh');
  await rig.deleteMachine('m-0');
  rig.start();
  await rig.clock.advance(HOUR);
  expect([(await rig.machines()).length, await isNoted(rig)]).toEqual([1, false]);
});

test.each(['machineclasses', 'secrets'] as const)(
  'before the first create call, the object of %s has the finalizer',
  async (kind) => {
    const seen: boolean[] = [];
    const rig: Rig = await withFreshClass({
      wrap: finalizers(kind, (transport) => async (request) => {
        await sleep(rig.clock, 500, request.signal);
        return transport(request);
      }),
      cloud: {
        gate: async (method, point) => {
          if (method !== 'create' || point !== 'before') return;
          const held = kind === 'secrets' ? await secretsOf(rig).get('fresh') : await classes(rig).get('fresh');
          seen.push(held.metadata.finalizers !== undefined);
        },
      },
    });
    rig.start();
    expect(await rig.until(async () => rig.cloud.vms.length === 1, MINUTE)).toBeLessThan(1_000);
    await rig.clock.advance(MINUTE);
    expect(seen).toEqual([true]);
  },
);

test('a refused finalizer delays the first create call by two seconds, and the status records the creation first', async () => {
  const seen: (string | undefined)[] = [];
  const rig: Rig = await withFreshClass({
    wrap: finalizers('machineclasses', refuse),
    cloud: {
      gate: async (method, point) => {
        if (method === 'create' && point === 'before') seen.push(await rig.description('m-0'));
      },
    },
  });
  rig.start();
  expect(await rig.until(async () => rig.cloud.vms.length === 1, MINUTE)).toBeLessThan(2_500);
  expect(seen).toEqual(['Creating machine on cloud provider']);
});
