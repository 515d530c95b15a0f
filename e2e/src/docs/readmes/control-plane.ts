import { startControlPlane } from '@mcm/control-plane';

const plane = await startControlPlane(); // in this process: opens no socket, writes no file
const answer = await plane.fetch(
  new Request('https://plane/api/v1/namespaces/default/configmaps', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'hello' }, data: { to: 'the world' } }),
  }),
);
console.log(answer.status); // 201
await plane.close();
