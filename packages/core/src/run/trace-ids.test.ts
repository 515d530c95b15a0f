import { expect, test } from 'vitest';
import type { Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

/** Starts a machine whose first creation fails, and returns the fields of the log lines with this message. */
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
