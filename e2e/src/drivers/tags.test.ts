import { MachineError, ORPHAN_TAGS } from '@mcm/core';
import { loadSdk } from '@mcm/provider-azure';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import type { FleetProvider } from './fleet.ts';
import { aws, azure, gcp } from './providers.ts';
import { wired } from './wired.ts';

let back: () => void;
beforeAll(async () => {
  await loadSdk();
  back = await inAwsEnvironment();
});
afterAll(() => back());

const { deleteAfter, quarantined } = ORPHAN_TAGS;
const TIME = '2026-01-31t12-00-00z';
type Provider = FleetProvider<never, never>;

async function launched(provider: Provider, change: object = {}) {
  const cloud = wired(provider, change);
  const { providerId: providerID } = await cloud.stage.create();
  const count = (request: string): number => cloud.cloud.counts.get(request) ?? 0;
  const listed = async (tagKeys?: readonly string[]) => (await cloud.stage.list({}, tagKeys)).map(({ tags }) => tags);
  return { ...cloud, given: { providerID }, count, listed };
}

const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((thrown: unknown) => MachineError.from(thrown));

test.each<[name: string, provider: Provider, labels: Readonly<Record<string, string>>]>([
  ['aws', aws() as never, {}],
  ['azure', azure() as never, {}],
  ['gcp', gcp() as never, { team: 'blue' }],
])('the driver of %s changes only the tags in the request, and lists only the requested tags', async (...row) => {
  const [, provider, labels] = row;
  const { stage, given, listed } = await launched(provider, { labels });
  await stage.tag({ [quarantined]: 'machines-lost', other: 'kept' }, given);
  await stage.tag({ [deleteAfter]: TIME, [quarantined]: null }, given);
  expect(await listed([deleteAfter, quarantined])).toEqual([{ [deleteAfter]: TIME }]);
  expect(await listed(['other', 'team'])).toEqual([{ other: 'kept', ...labels }]);
  expect(await listed()).toEqual([undefined]);
});

test('EC2 gets one request for tags to set, and one request for tags to remove', async () => {
  const { stage, given, wire, count } = await launched(aws() as never);
  await stage.tag({ [deleteAfter]: TIME }, given);
  await stage.tag({ [deleteAfter]: null }, given);
  expect([count('CreateTags'), count('DeleteTags')]).toEqual([1, 1]);
  const [removal] = wire.sent.filter(({ body }) => body?.includes('Action=DeleteTags'));
  expect(removal?.body).toContain(`Tag.1.Key=${deleteAfter}`);
  expect(removal?.body).not.toContain('Tag.1.Value');
});

test('EC2 refuses the tags without the permission, and the error reports refused credentials', async () => {
  const { stage, given, cloud } = await launched(aws() as never);
  const message = 'You are not authorized to perform this operation.';
  cloud.faults?.order({ on: '^CreateTags$', refuse: { status: 403, code: 'UnauthorizedOperation', message } });
  expect(await failure(stage.tag({ [deleteAfter]: TIME }, given))).toMatchObject({ credentialsRefused: true });
});

test('a query of Resource Graph reads all tags only if the caller needs tags', async () => {
  const { listed, wire } = await launched(azure() as never);
  const queries = () => wire.sent.flatMap(({ path, body }) => (path.includes('ResourceGraph') ? [body ?? ''] : []));
  await listed();
  expect(queries().at(-1)).not.toContain(', tags');
  await listed([deleteAfter]);
  expect(queries().at(-1)).toContain('project type, name, tags');
});

test('Azure gets no request for tags that the VM already has, and merges all others', async () => {
  const { stage, given, count, wire } = await launched(azure() as never);
  await stage.tag({ [deleteAfter]: TIME }, given);
  await stage.tag({ [deleteAfter]: TIME, [quarantined]: null }, given);
  expect([count('PATCH tags'), count('PATCH virtualMachines')]).toEqual([1, 0]);
  const [sent] = wire.sent.filter(({ method }) => method === 'PATCH');
  expect(JSON.parse(sent?.body ?? '')).toEqual({ operation: 'Merge', properties: { tags: { [deleteAfter]: TIME } } });
});

test('the driver of GCP reads the labels again if another program has changed them', async () => {
  const { stage, given, listed, cloud, count } = await launched(gcp() as never);
  const message = 'Labels fingerprint either invalid or resource labels have changed';
  cloud.faults?.order({ on: '^POST instances$', times: 2, refuse: { status: 412, code: 'conditionNotMet', message } });
  await stage.tag({ [deleteAfter]: TIME }, given);
  expect(await listed([deleteAfter])).toEqual([{ [deleteAfter]: TIME }]);
  const before = count('POST instances');
  await stage.tag({ [deleteAfter]: TIME }, given);
  expect(count('POST instances')).toBe(before);
});
