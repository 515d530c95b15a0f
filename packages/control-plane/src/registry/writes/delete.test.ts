import { expect, test } from 'vitest';
import { startTestPlane } from '../../testing.ts';

const PODS = '/api/v1/namespaces/default/pods';

test('a shorter grace period never ends in the past, and a negative one is a second', async () => {
  const { clock, client, plane } = await startTestPlane();
  await client.send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'x' }] };
  expect((await client.send('POST', PODS, { metadata: { name: 'p' }, spec })).status).toBe(201);
  const shorten = async (seconds: number): Promise<unknown> => {
    const { metadata } = (await client.send('DELETE', `${PODS}/p?gracePeriodSeconds=${seconds}`)).body;
    return [metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds];
  };
  expect(await shorten(60)).toEqual(['2026-01-01T00:01:00Z', 60]);
  await clock.advance(20_000);
  expect(await shorten(30)).toEqual(['2026-01-01T00:00:30Z', 30]);
  expect(await shorten(5)).toEqual(['2026-01-01T00:00:20Z', 1]);
  expect(await shorten(-1)).toEqual(['2026-01-01T00:00:20Z', 1]);
  expect((await client.send('GET', `${PODS}/p`)).status).toBe(200);
  await plane.close();
});
