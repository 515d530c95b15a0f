import { expect, test } from 'vitest';
import { TestClock } from '../controllers/testing.ts';
import { startControlPlane } from '../plane.ts';

test('ages in the Table of a watch are those at its events', async () => {
  const clock = new TestClock();
  const plane = await startControlPlane({ clock, controllers: false });
  const maps = 'http://plane/api/v1/namespaces/default/configmaps';
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const watch = await plane.fetch(new Request(`${maps}?watch=true`, { headers: { accept } }));
  const reader = watch.body?.getReader();
  await clock.advance(100_000);
  const send = (path: string, method: string, body: unknown, contentType = 'application/json') =>
    plane.fetch(
      new Request(`${maps}${path}`, {
        method,
        body: JSON.stringify(body),
        headers: { 'content-type': contentType },
      }),
    );
  await send('', 'POST', { metadata: { name: 'm' } });
  await clock.advance(30_000);
  await send('/m', 'PATCH', { data: { a: 'b' } }, 'application/merge-patch+json');
  let text = '';
  while (text.split('\n').length < 3) text += new TextDecoder().decode((await reader?.read())?.value);
  const ages = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).object.rows[0].cells.at(-1));
  expect(ages).toEqual(['0s', '30s']);
  await reader?.cancel();
  await plane.close();
});

test('a Table of something unknown is refused before a watch begins, and a watch without time ends at once', async () => {
  const plane = await startControlPlane({ clock: new TestClock(), controllers: false });
  const maps = 'http://plane/api/v1/namespaces/default/configmaps';
  const body = JSON.stringify({ metadata: { name: 'm' } });
  await plane.fetch(new Request(maps, { method: 'POST', body, headers: { 'content-type': 'application/json' } }));
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const table = await plane.fetch(new Request(`${maps}?watch=true&includeObject=Zap`, { headers: { accept } }));
  expect([table.status, await table.json()]).toMatchObject([400, { reason: 'BadRequest' }]);
  const short = await plane.fetch(new Request(`${maps}?watch=true&timeoutSeconds=-1`));
  expect([short.status, await short.text()]).toEqual([200, '']);
  await plane.close();
});
