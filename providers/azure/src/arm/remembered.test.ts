import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Remembered } from './remembered.ts';

test('a caller that shares a cancelled request sends it again', async () => {
  const clock = new VirtualClock();
  const remembered = new Remembered<string>(clock, 1_000);
  const ended = new AbortController();
  const first = remembered.get(
    'k',
    ended.signal,
    () => new Promise((_, no) => ended.signal.addEventListener('abort', no)),
  );
  const second = remembered.get('k', new AbortController().signal, async () => 'told');
  ended.abort(new Error('the asker ends'));
  await expect(first).rejects.toBeDefined();
  expect(await second).toBe('told');
});
