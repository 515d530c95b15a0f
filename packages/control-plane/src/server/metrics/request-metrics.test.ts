import { expect, test } from 'vitest';
import { startTestPlane } from '../../testing.ts';

const V1 = '/api/v1/namespaces/default/configmaps';

async function scrape(plane: Awaited<ReturnType<typeof startTestPlane>>['plane']): Promise<string> {
  const answer = await plane.fetch(new Request('http://plane/metrics'));
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=0\.0\.4/),
  ]);
  return answer.text();
}

test('counts requests with the names and labels of kube-apiserver', async () => {
  const { plane, client } = await startTestPlane();
  await client.send('POST', V1, { metadata: { name: 'a' } });
  await client.send('POST', `${V1}?dryRun=All`, { metadata: { name: 'b' } });
  await client.send('GET', `${V1}/none`);
  await client.send('GET', V1);
  await client.send('GET', '/api/v1/configmaps');
  await client.send('DELETE', V1);
  await client.send('GET', '/healthz');
  await client.send('GET', '/api/v1/namespaces/default/invented');
  const applied = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\n';
  await plane.fetch(
    new Request(`http://plane${V1}/s?fieldManager=m`, {
      method: 'PATCH',
      body: applied,
      headers: { 'content-type': 'application/apply-patch+yaml' },
    }),
  );
  const text = await scrape(plane);
  const total = (scope: string, verb: string, code: number, dryRun = ''): string =>
    `apiserver_request_total{code="${code}",component="apiserver",dry_run="${dryRun}",group="",resource="configmaps",scope="${scope}",subresource="",verb="${verb}",version="v1"} 1`;
  for (const line of [
    total('resource', 'POST', 201),
    total('resource', 'POST', 201, 'All'),
    total('resource', 'GET', 404),
    total('namespace', 'LIST', 200),
    total('cluster', 'LIST', 200),
    total('namespace', 'DELETE', 200),
    total('resource', 'APPLY', 201),
    'apiserver_resource_objects{group="",resource="configmaps"} 1',
    'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  expect(text).not.toContain('invented');
  expect(text).toMatch(/apiserver_request_duration_seconds_bucket\{[^}]*verb="APPLY"[^}]*le="\+Inf"\} 1\n/);
  await plane.close();
});

test('counts a watch while it is open', async () => {
  const { plane } = await startTestPlane();
  const ended = new AbortController();
  const watch = await plane.fetch(new Request(`http://plane${V1}?watch=true`, { signal: ended.signal }));
  const open = async (): Promise<string | undefined> =>
    /apiserver_longrunning_requests\{[^}]*verb="WATCH"[^}]*\} (\d+)/.exec(await scrape(plane))?.[1];
  expect(await open()).toBe('1');
  ended.abort();
  await watch.body?.cancel().catch(() => undefined);
  expect(await open()).toBe('0');
  await plane.close();
});

test('only users with the permission for the path read it', async () => {
  const { plane } = await startTestPlane();
  const asked = new Request('http://plane/metrics', { headers: { authorization: 'Basic x' } });
  expect((await plane.fetch(asked)).status).toBe(403);
  await plane.close();
});

test('every family has a help text, a type and names that promtool accepts', async () => {
  const { plane, client } = await startTestPlane();
  await client.send('GET', V1);
  const lines = (await scrape(plane)).trimEnd().split('\n');
  const types = new Map(
    lines.flatMap((line) => [/^# TYPE (\S+) (\S+)$/.exec(line)?.slice(1) as [string, string]]).filter(Boolean),
  );
  const helped = new Set(lines.flatMap((line) => /^# HELP (\S+) \S/.exec(line)?.[1] ?? []));
  for (const line of lines.filter((each) => !each.startsWith('#'))) {
    const [, series = ''] = /^([a-z_]+)(?:\{[^}]*\})? [\d.e+-]+$/.exec(line) ?? [];
    expect(series, line).not.toBe('');
    const name = series.replace(/_(bucket|sum|count)$/, '');
    expect(helped, name).toContain(name);
    expect(name.endsWith('_total'), name).toBe(types.get(name) === 'counter');
  }
  await plane.close();
});
