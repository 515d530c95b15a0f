import type { MachineClass } from '@mcm/api';
import { Ec2Endpoint } from '@mcm/cloud-emulators';
import { decodeInput, type InterruptionNotice, MachineError, type NoticeAnswer } from '@mcm/core/driver';
import { createMemoryLogger, seededRandom, VirtualClock } from '@mcm/kube';
import { type AwsSettings, createAwsDriver } from '@mcm/provider-aws';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import { aws } from './providers.ts';
import { Stage } from './rows/stage.ts';

/** The AWS driver reads events about interruptions from the queue of the emulator. */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

const { machineClass: ofClass, secret } = aws();
const machineClass: MachineClass = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { name: 'small', namespace: 'default', uid: 'c', resourceVersion: '1', creationTimestamp: '' },
  secretRef: { name: 'small', namespace: 'default' },
  provider: 'AWS',
  providerSpec: { ...(ofClass.providerSpec as object) },
};

function rig(settings: AwsSettings = { interruptionQueue: 'mcm-interruptions' }) {
  const clock = new VirtualClock({ quietTurns: 8 });
  const cloud = new Ec2Endpoint({ clock, bootMs: 0, shutdownMs: 1_000 });
  const variables = {};
  const environment = { variables, readFile: async () => undefined, run: async () => '' };
  const context = { clock, random: seededRandom(1), connect: () => cloud.transport };
  const driver = createAwsDriver({ ...context, environment, settings });
  const base = { provider: 'AWS', spec: machineClass.providerSpec, secret: { userData: 'x', ...secret } };
  const stage = new Stage(clock, driver, base);
  const data = { ...secret, userData: 'x' };
  const decoded = decodeInput(driver, { call: 'watchInterruptions', machineClass, data });
  const told: InterruptionNotice[] = [];
  const watch = (answer: NoticeAnswer, ms = 60_000): Promise<void> => {
    const notify = async (notice: InterruptionNotice): Promise<NoticeAnswer> => {
      told.push(notice);
      return answer;
    };
    const signal = new AbortController().signal;
    const request = { ...decoded, machineClass, signal, log: createMemoryLogger(), notify };
    return clock.ended(driver.watchInterruptions?.(request) ?? Promise.resolve(), { maxMs: ms });
  };
  return { clock, cloud, driver, stage, told, watch };
}

test('a warning stays in the queue until it is recorded, and names the instance by its provider ID', async () => {
  const { clock, cloud, stage, told, watch } = rig();
  const { providerId } = await stage.create();
  expect(cloud.interrupt('m-1', { kind: 'Terminate', noticeMs: 120_000 })).toBe(true);
  await watch('later');
  expect(cloud.queue.size).toBe(1);
  await clock.advance(30_000);
  await watch('done');
  expect(cloud.queue.size).toBe(0);
  expect(told.map(({ kind, providerId: id }) => [kind, id])).toEqual([
    ['Terminate', providerId],
    ['Terminate', providerId],
  ]);
  await clock.advance(120_000);
  expect(cloud.resources()).toEqual([]);
});

test('a hundred warnings are read at once, and a message that is no event is removed', async () => {
  const { cloud, stage, told, watch, clock } = rig();
  await stage.create();
  for (let i = 0; i < 100; i++) cloud.interrupt('m-1', { kind: 'Terminate', noticeMs: 120_000 });
  cloud.queue.send('hello');
  const start = clock.monotonic();
  await watch('done');
  expect(told).toHaveLength(100);
  expect(cloud.queue.size).toBe(0);
  expect(clock.monotonic() - start).toBeLessThan(5_000);
});

test('an empty queue is read with one long poll', async () => {
  const { cloud, clock, watch } = rig();
  const start = clock.monotonic();
  await watch('done');
  expect(clock.monotonic() - start).toBeGreaterThanOrEqual(20_000);
  expect([cloud.counts.get('ReceiveMessage'), cloud.counts.get('GetQueueUrl')]).toEqual([1, 1]);
});

test('a queue that does not exist is an error with its name in SQS', async () => {
  const { watch } = rig({ interruptionQueue: 'other' });
  const error = await watch('done').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MachineError);
  expect(String(error)).toContain('GetQueueUrl: QueueDoesNotExist');
});

test('a missing permission for the queue is an error of the credentials', async () => {
  const { cloud, watch } = rig();
  cloud.faults.order({ on: '^GetQueueUrl$', refuse: { status: 403, code: 'AccessDeniedException' } });
  const error = await watch('done').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ credentialsRefused: true });
});

test('without the flag the driver watches nothing', () => {
  expect(rig({}).driver.watchInterruptions).toBeUndefined();
});

test('classes with the same region and Secrets share a source', () => {
  const { driver } = rig();
  const other = { ...machineClass, metadata: { ...machineClass.metadata, name: 'other' } };
  const far = { ...machineClass, providerSpec: { region: 'us-east-1' } };
  expect(driver.interruptionSource?.(other)).toBe(driver.interruptionSource?.(machineClass));
  expect(driver.interruptionSource?.(far)).not.toBe(driver.interruptionSource?.(machineClass));
});
