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
