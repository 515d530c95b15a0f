import { expect, test } from 'vitest';
import type { DrainObservation } from '../drain/model/observation.ts';
import type { Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

async function fieldsOf(rig: Rig, message: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  rig.cloud.fail('create', { code: 'Internal' });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  return rig.log.lines.filter((line) => line.message === message).map(({ fields }) => fields);
}

test.each(['Machine step', 'Driver call failed'])(
  'with tracing, the message "%s" has the trace of its machine',
  async (message) => {
    const rig = await startRig({ joinAfterMs: 0, controller: { traceIdOf: (uid) => `trace-of-${uid}` } });
    const all = await fieldsOf(rig, message);
    const uid = (await rig.machine('m-0'))?.metadata.uid;
    expect(new Set(all.map(({ trace_id }) => trace_id))).toEqual(new Set([`trace-of-${uid}`]));
  },
);

test('without tracing, messages have no trace', async () => {
  const rig = await startRig({ joinAfterMs: 0 });
  const all = await fieldsOf(rig, 'Machine step');
  expect(all.length).toBeGreaterThan(0);
  expect(all.every(({ trace_id }) => trace_id === undefined)).toBe(true);
});

test('with tracing, each observation of a drain is reported with its machine', async () => {
  const seen: (readonly [name: string, drain: DrainObservation | undefined])[] = [];
  const traceDrain = ({ metadata }: { metadata: { name: string } }, drain: DrainObservation | undefined) =>
    void seen.push([metadata.name, drain]);
  const rig = await startRig({ joinAfterMs: 0, controller: { traceDrain } });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  expect(seen.every(([name, drain]) => name === 'm-0' && drain === undefined)).toBe(true);
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.machine('m-0')) === undefined);
  expect(seen.some(([, drain]) => drain !== undefined)).toBe(true);
});
