import { VirtualClock } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { controllerUrls, type Fetch } from './controllers.ts';
import { type JournalFlags, reportJournal } from './run.ts';
import { journalText, setNamed } from './testing.ts';

const MANAGER = journalText('machine-controller-manager', [
  { set: setNamed('web-1'), machines: 1 },
  { set: setNamed('web-1'), machines: 4 },
  { set: setNamed('db-1'), machines: 2 },
]);

const answering =
  (answers: Readonly<Record<string, string | number>>, asked: string[] = []): Fetch =>
  async (url) => {
    asked.push(url.href);
    const answer = answers[url.port];
    if (answer === undefined) throw new Error('connect ECONNREFUSED');
    return typeof answer === 'string' ? { status: 200, text: answer } : { status: answer, text: 'no\n' };
  };

async function journal(object: string | undefined, fetch: Fetch, more: Partial<JournalFlags> = {}) {
  const said: string[] = [];
  const warned: string[] = [];
  const telling = {
    signal: () => new AbortController().signal,
    say: (line: string) => void said.push(line),
    warn: (line: string) => void warned.push(line),
    draw: (text: string) => text,
  };
  const flags = { output: 'text' as const, dataDir: '/nowhere/at-all', namespace: 'default', ...more };
  await reportJournal(object, flags, telling, fetch);
  return { said, warned };
}

const both = answering({ 10258: MANAGER, 10259: journalText('machine-controller-local', []) });

test('the decisions of both controllers are listed, oldest first', async () => {
  const { said, warned } = await journal(undefined, both);
  expect(warned).toEqual([]);
  expect(said.map((line) => line.replace(/^\S+\s+/, ''))).toEqual([
    'SEEN  COUNT  OBJECT            ACTIONS  REASON',
    '1      machineset/web-1  -        1 machines',
    '1      machineset/web-1  freeze   4 machines',
    '1      machineset/db-1   -        2 machines',
  ]);
});

test('an object selects its decisions, and --limit the newest ones', async () => {
  const asked: string[] = [];
  const fetch = answering({ 10258: MANAGER, 10259: MANAGER }, asked);
  const { said } = await journal('machineset/web-1', fetch, { limit: '1', namespace: 'default', output: 'json' });
  const rows: readonly { readonly object: string; readonly because: string }[] = JSON.parse(said.join('\n'));
  expect(rows).toMatchObject([{ object: 'machineset/web-1', because: '4 machines', actions: ['freeze'] }]);
  expect(asked[0]).toBe('http://127.0.0.1:10258/debug/journal?name=web-1');
  expect((await journal('machine/web-1', both)).said).toEqual([
    'no decisions about namespace default in the memory of the controllers',
  ]);
});

test('the namespace selects decisions, except those about Nodes; -A lists all of them with their namespace', async () => {
  const of = (text: string, namespace: string): string =>
    text.replaceAll('"namespace":"default"', `"namespace":"${namespace}"`);
  const other = of(journalText('machine-controller-manager', [{ set: setNamed('far-1'), machines: 1 }]), 'far');
  const node = of(journalText('machine-controller-local', [{ set: setNamed('node-1'), machines: 1 }]), '');
  const fetch = answering({ 10258: other, 10259: node });
  const objects = ({ said }: { readonly said: readonly string[] }) =>
    said.slice(1).map((line) => line.split(/ +/).slice(0, 4));
  expect(objects(await journal(undefined, fetch)).map(([, , name]) => name)).toEqual(['machineset/node-1']);
  const all = await journal(undefined, fetch, { namespace: undefined, allNamespaces: true });
  expect(all.said[0]).toMatch(/^NAMESPACE +LAST SEEN/);
  expect(objects(all).map(([namespace, , , name]) => [namespace, name])).toContainEqual(['far', 'machineset/far-1']);
});

test('-w prints only new decisions, and an outage of a controller once', async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const first = [{ set: setNamed('web-1'), machines: 1 }];
  let answer: string | undefined = journalText('machine-controller-manager', first);
  const fetch: Fetch = async () => {
    if (answer === undefined) throw new Error('connect ECONNREFUSED');
    return { status: 200, text: answer };
  };
  const [said, warned]: [string[], string[]] = [[], []];
  const telling = {
    say: (line: string) => void said.push(line.replace(/^\S+ +/, '')),
    warn: (line: string) => void warned.push(line),
    draw: (text: string) => text,
    signal: () => stop.signal,
  };
  const flags = { output: 'text', dataDir: '/nowhere', namespace: 'default', watch: true } as const;
  const done = reportJournal(undefined, { ...flags, controller: ['http://127.0.0.1:1'] }, telling, fetch, clock);
  await clock.advance(10_000);
  expect(said).toHaveLength(2);
  answer = undefined;
  await clock.advance(10_000);
  expect(warned).toEqual(['mcm: no controller responds at http://127.0.0.1:1: connect ECONNREFUSED']);
  answer = journalText('machine-controller-manager', [...first, { set: setNamed('db-1'), machines: 4 }]);
  await clock.advance(10_000);
  // Rows that are printed later use the column widths of the first table.
  expect(said.slice(1)).toEqual([
    '1      machineset/web-1  -        1 machines',
    '1      machineset/db-1   freeze   4 machines',
  ]);
  stop.abort(new Error('the user ended the command'));
  await expect(done).rejects.toThrow('the user ended the command');
});

test('JSON contains the observation and the result of a decision', async () => {
  const { said } = await journal('mcs/db-1', both, { output: 'json' });
  expect(JSON.parse(said.join('\n'))).toMatchObject([
    {
      at: '2026-01-01T00:00:02.000Z',
      controller: 'machine-controller-manager',
      decision: 'overshoot',
      result: { verdict: 'leave', limits: { upper: 4 } },
      observation: { machines: 2, set: { metadata: { name: 'db-1' } } },
      outcome: 'done',
    },
  ]);
});

test('names with escape sequences are printed in a visible form', async () => {
  const set = setNamed('web-1', { note: '\u001b[2J' });
  const hostile = journalText('\u001b[31mred', [{ set, machines: 1, because: 'clear \u001b[2J\u202e' }]);
  const fetch = answering({ 10258: hostile, 10259: hostile });
  for (const output of ['wide', 'json', 'yaml'] as const)
    expect((await journal(undefined, fetch, { output })).said.join('\n')).not.toMatch(/[\p{Cf}]|(?!\n)\p{Cc}/u);
});

describe('controllers that do not answer', () => {
  test('one controller that does not answer is reported on standard error, and the other is listed', async () => {
    const { said, warned } = await journal(undefined, answering({ 10258: MANAGER }));
    expect(said).toHaveLength(4);
    expect(warned).toEqual(['mcm: no controller responds at http://127.0.0.1:10259: connect ECONNREFUSED']);
  });

  test('if no controller answers, the error says how to reach the controllers', async () => {
    await expect(journal(undefined, answering({}))).rejects.toThrow(
      /no controller responds at http:\/\/127.0.0.1:10258: connect ECONNREFUSED; .* forward the ports: kubectl port-forward/,
    );
  });

  test.each([
    [
      404,
      'the program at http://127.0.0.1:10258 has no journal: the program is not the leader, or is an older version of mcm',
    ],
    [401, 'the program at http://127.0.0.1:10258 responds with status 401: no'],
  ])('status %i', async (status, sentence) => {
    const { warned } = await journal(undefined, answering({ 10258: status, 10259: MANAGER }));
    expect(warned).toEqual([`mcm: ${sentence}`]);
  });

  test('an answer of another program is reported, and the other controller is listed', async () => {
    const { said, warned } = await journal(undefined, answering({ 10258: '<html>', 10259: MANAGER }));
    expect(said).toHaveLength(4);
    expect(warned).toEqual(['mcm: the response of http://127.0.0.1:10258 is invalid: the file is not an mcm journal']);
  });
});

test.each([
  [
    'machineclass/small',
    {},
    'a machineclass has no journal; write one of machine, machineset, machinedeployment, node',
  ],
  ['web-1', { limit: 'many' }, '--limit many must be a number of decisions, such as 20'],
  ['web-1', { controller: ['localhost'] }, '--controller localhost must be a URL such as http://127.0.0.1:10258'],
  ['web-1', { controller: ['file:///etc/passwd'] }, '--controller file:///etc/passwd must be a URL'],
] as const)('%s with %j is refused', async (object, flags, message) => {
  await expect(journal(object, both, flags)).rejects.toThrow(message);
});

test('addresses of the flag replace the default ports', () => {
  const urls = controllerUrls({ dataDir: '/nowhere/at-all', controller: ['http://127.0.0.1:9', 'https://[::1]:1'] });
  expect(urls.map(({ origin }) => origin)).toEqual(['http://127.0.0.1:9', 'https://[::1]:1']);
});
