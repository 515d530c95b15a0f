import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { startControlPlane } from '../plane.ts';

test('an in-process watch ends with its signal, although its request is no longer referenced', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const plane = await startControlPlane({ controllers: false });
  const stop = new AbortController();
  const watch = async (): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
    const request = new Request('https://plane/api/v1/configmaps?watch=true', { signal: stop.signal });
    const { body } = await plane.fetch(request);
    if (body === null) throw new Error('a watch has a body');
    return body.getReader();
  };
  const reader = await watch();
  const end = expect(reader.read()).rejects.toThrow('aborted');
  for (let turn = 0; turn < 10; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  stop.abort();
  await end;
  await plane.close();
});
