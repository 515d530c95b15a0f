import { expect, test } from 'vitest';
import { startControlPlane } from './plane.ts';

test('an unknown controller is refused, and the port is free again', async () => {
  const first = await startControlPlane({ port: 0, controllers: false });
  const port = Number(new URL(first.url ?? '').port);
  await first.close();
  await expect(startControlPlane({ port, controllers: ['gardener'] })).rejects.toThrow(
    'no controller is named gardener',
  );
  const again = await startControlPlane({ port, controllers: false });
  expect(again.url).toBe(`https://127.0.0.1:${port}`);
  await again.close();
});
