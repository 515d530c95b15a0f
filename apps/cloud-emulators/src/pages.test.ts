import { type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ArmEndpoint, Ec2Endpoint, GceEndpoint } from './index.ts';

/** Items are added and deleted between the requests for two pages. */

const ask = async (transport: Transport, method: string, path: string, body?: string): Promise<string> =>
  (await transport({ method, path, headers: {}, ...(body === undefined ? {} : { body }) })).text();

const clock = new VirtualClock();
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const [GONE, NEW] = ['a', 'f'];
const STAYED = ['b', 'c', 'd', 'e'];

/**
 * Lists the resources of all pages.
 * @param page Requests the page that a token identifies. The result contains the names on this page, and the token
 * of the next page.
 * @param change Called between the first and the second page
 */
async function listed(
  page: (token: string | undefined) => Promise<{ names: readonly string[]; next: string | undefined }>,
  change: () => unknown,
): Promise<readonly string[]> {
  const all: string[] = [];
  let token: string | undefined;
  do {
    const { names, next } = await page(token);
    all.push(...names);
    if (token === undefined) await change();
    token = next;
  } while (token !== undefined);
  return all;
}

test('EC2', async () => {
  const instances = NAMES.map((name) => ({ instanceId: `i-${name}`, state: 'running', tags: { Name: name } }));
  const cloud = new Ec2Endpoint({ clock, pageSize: 2, instances });
  const found = await listed(
    async (token) => {
      const more = token === undefined ? '' : `&NextToken=${encodeURIComponent(token)}`;
      const text = await ask(cloud.transport, 'POST', '/', `Action=DescribeInstances&Version=2016-11-15${more}`);
      return {
        names: [...text.matchAll(/<instanceId>i-(\w+)</g)].map(([, name = '']) => name),
        next: /<nextToken>([^<]+)</.exec(text)?.[1],
      };
    },
    () => {
      cloud.instances.splice(0, 1);
      cloud.instances.push({ instanceId: `i-${NEW}`, state: 'running', tags: {} });
    },
  );
  expect(found).toEqual([GONE, ...STAYED, NEW]);
  const odd = await ask(cloud.transport, 'POST', '/', 'Action=DescribeInstances&Version=2016-11-15&NextToken=2');
  expect(odd).toContain('<Code>InvalidNextToken</Code>');
});

test('Resource Graph', async () => {
  const cloud = new ArmEndpoint({ clock, pageSize: 2, operationMs: 0 });
  const id = (name: string): string => `/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/disks/${name}`;
  const place = (name: string): void =>
    cloud.place(id(name), { tags: { 'kubernetes.io-cluster-x': '1', 'kubernetes.io-role-y': '1' } });
  for (const name of NAMES) {
    place(name);
    await clock.advance(1_000);
  }
  const query =
    "Resources | where type =~ 'microsoft.compute/disks' | where resourceGroup =~ 'rg' | where tagKeys has 'kubernetes.io-cluster-x' and tagKeys has 'kubernetes.io-role-y'";
  const found = await listed(
    async (token) => {
      const body = JSON.stringify({ query, ...(token === undefined ? {} : { options: { $skipToken: token } }) });
      const path = '/providers/Microsoft.ResourceGraph/resources?api-version=2021-03-01';
      const { data, $skipToken } = JSON.parse(await ask(cloud.transport, 'POST', path, body));
      return { names: data.map(({ name }: { name: string }) => name), next: $skipToken };
    },
    async () => {
      await ask(cloud.transport, 'DELETE', `${id(GONE)}?api-version=2023-04-02`);
      await clock.advance(1_000);
      place(NEW);
    },
  );
  expect(found).toEqual([GONE, ...STAYED, NEW]);
});

test('Compute Engine', async () => {
  const cloud = new GceEndpoint({ clock, pageSize: 2, operationMs: 0 });
  for (const name of NAMES) cloud.place('p', 'z', { name });
  const path = '/compute/v1/projects/p/zones/z/instances';
  const found = await listed(
    async (token) => {
      const text = await ask(cloud.transport, 'GET', token === undefined ? path : `${path}?pageToken=${token}`);
      const { items = [], nextPageToken } = JSON.parse(text);
      return { names: items.map(({ name }: { name: string }) => name), next: nextPageToken };
    },
    async () => {
      await ask(cloud.transport, 'DELETE', `${path}/${GONE}`);
      await clock.advance(1_000);
      cloud.place('p', 'z', { name: NEW });
    },
  );
  expect(found).toEqual([GONE, ...STAYED, NEW]);
});
