import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestPlane } from '../testing.ts';

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeAll(async () => {
  setup = await startTestPlane();
});
afterAll(() => setup.plane.close());

const read = async (path: string): Promise<{ status: number; text: string; type: string | null }> => {
  const answer = await setup.plane.fetch(new Request(`https://plane${path}`));
  return { status: answer.status, text: await answer.text(), type: answer.headers.get('content-type') };
};

describe('health checks', () => {
  it.each(['healthz', 'livez', 'readyz'])('%s is ok, and lists its checks on request', async (first) => {
    expect(await read(`/${first}`)).toEqual({ status: 200, text: 'ok', type: 'text/plain; charset=utf-8' });
    const { text } = await read(`/${first}?verbose`);
    expect(text).toMatch(/^\[\+\]ping ok\n\[\+\]log ok\n\[\+\]etcd ok\n/);
    expect(text.endsWith(`${first} check passed\n`)).toBe(true);
  });

  it('the server answers a single health check, and 404 for one that does not exist', async () => {
    expect(await read('/readyz/etcd')).toMatchObject({ status: 200, text: 'ok' });
    expect(await read('/readyz/poststarthook/rbac/bootstrap-roles?verbose')).toMatchObject({ status: 200, text: 'ok' });
    expect(await read('/livez/shutdown')).toMatchObject({ status: 404, text: '404 page not found\n' });
  });

  it('omits excluded checks, and warns about unknown ones', async () => {
    const { text } = await read('/livez?verbose&exclude=etcd&exclude=foo');
    expect(text).toContain('[+]etcd excluded: ok\n');
    expect(text).toContain('\nwarn: some health checks cannot be excluded: no matches for "foo"\nlivez check passed\n');
  });
});
