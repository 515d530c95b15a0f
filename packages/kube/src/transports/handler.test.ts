import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { handlerTransport } from './handler.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the end of a watch reaches the handler even after a garbage collection', async () => {
  const ended: string[] = [];
  const transport = handlerTransport(async (request) => {
    request.signal.addEventListener('abort', () => ended.push('watch'));
    return new Response('');
  });
  const controller = new AbortController();
  await transport({ method: 'GET', path: '/api/v1/nodes?watch=true', headers: {}, signal: controller.signal });
  for (let round = 0; round < 5; round += 1) {
    await turn();
    collectGarbage();
  }
  controller.abort();
  await turn();
  expect(ended).toEqual(['watch']);
});

test('a request whose signal has aborted is not sent', async () => {
  const seen: string[] = [];
  const transport = handlerTransport(async (request) => {
    seen.push(request.url);
    return new Response('');
  });
  const signal = AbortSignal.abort(new Error('gone'));
  await expect(transport({ method: 'GET', path: '/version', headers: {}, signal })).rejects.toThrow('gone');
  expect(seen).toEqual([]);
});
