import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startControlPlane } from '@mcm/control-plane';
import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { createPlayer, loadRunner, type Player } from './battery.ts';
import { caseOf, requestsOf } from './cases.ts';
import { reportLines } from './report.ts';
import { ruleOf } from './rules.ts';
import { playSeed } from './run.ts';
import { type Ground, prepare, type Server, serverOf, startPlane } from './servers.ts';
import { shrink, tryWith } from './shrink.ts';
import { essenceOf, firstDifference } from './verdict.ts';

const runner = await loadRunner();

async function startFaulty(isWrong: (request: Request, text: string) => boolean): Promise<Server> {
  const plane = await startControlPlane({ controllers: false, adminToken: 'fuzz', trustInProcess: false });
  const transport = runner.handlerTransport(
    async (request) => {
      const text = await request.clone().text();
      const answer = await plane.fetch(request);
      if (!isWrong(request, text)) return answer;
      return new Response('{"kind":"Status","status":"Failure","reason":"Wrong"}', {
        status: 418,
        headers: { 'content-type': 'application/json' },
      });
    },
    { token: plane.adminToken },
  );
  return serverOf(runner, transport, () => plane.close());
}

async function withServers(
  isWrong: (request: Request, text: string) => boolean,
  check: (real: Server, plane: Server, ground: Ground) => Promise<void>,
): Promise<void> {
  const [real, plane] = await Promise.all([startPlane(runner), startFaulty(isWrong)]);
  try {
    await check(real, plane, await prepare(real, plane));
  } finally {
    await Promise.all([real.close(), plane.close()]);
  }
}

const never = (): boolean => false;
const REQUESTS = thoroughly(400, 150);

test('a server does not differ from itself, and a case is the same each time', async () => {
  await withServers(never, async (real, plane, ground) => {
    const run = { seed: 7, requests: REQUESTS, ...ground, real: real.player, plane: plane.player };
    const { requests, compared, found } = await playSeed(run);
    expect(found.map((difference) => difference.class)).toEqual([]);
    expect(requests).toBeGreaterThanOrEqual(REQUESTS);
    expect(compared).toBe(requests);
    const again = (seed: number, index: number) => caseOf(seed, index, ground.kinds, ground.schemas, ground.samples);
    expect(again(7, 3)).toEqual(again(7, 3));
    expect(again(7, 3).steps).not.toEqual(again(8, 3).steps);
    expect(requestsOf(again(7, 3))).toBeGreaterThanOrEqual(20);
  });
});

test('an artificial difference is found and shrunk to the requests and fields that it needs', async () => {
  const isWrong = ({ method, url }: Request, text: string): boolean =>
    method === 'PATCH' && url.includes('/configmaps/') && text.includes('"data"');
  await withServers(isWrong, async (real, plane, ground) => {
    const kinds = ground.kinds.filter(({ kind }) => kind === 'ConfigMap');
    const run = { seed: 1, requests: 80, ...ground, kinds, real: real.player, plane: plane.player };
    const { found } = await playSeed(run);
    const [first] = found;
    if (first === undefined) throw new Error('no difference was found');
    expect(first.class).toMatch(/^PATCH .*v1\/configmaps\/NAME: (status \d+ -> 418|reason)/);
    const small = await shrink(first, tryWith(real.player, plane.player));
    expect(small.class).toBe(first.class);
    expect(small.case.steps.length).toBeLessThanOrEqual(2);
    const { request, body } = small.case.steps.at(-1) ?? {};
    expect(request).toMatch(/^PATCH /);
    expect(JSON.stringify(body)).toContain('"data"');
    // The recorded difference is a case of the battery.
    const [passed] = (await real.player.compare([small.case])).values();
    expect(passed).toEqual([]);
  });
});

test('codes, reasons, fields and objects count; messages and headers do not', () => {
  const status = (code: number, reason: string, ...fields: string[]) => ({
    status: code,
    body: { kind: 'Status', status: 'Failure', reason, details: { causes: fields.map((field) => ({ field })) } },
  });
  const essence = (expected: object, actual: object, ...paths: string[]) =>
    essenceOf({ step: 1, what: '', diffs: paths.map((path) => [path, 1, 2]), answer: actual }, expected);
  expect(essence({ status: 201 }, { status: 200 })).toBe('status 201 -> 200');
  expect(essence(status(422, 'Invalid'), status(422, 'Wrong'))).toBe('reason Invalid -> Wrong');
  expect(essence(status(422, 'Invalid', 'a[0].b'), status(422, 'Invalid', 'c'))).toBe('fields -a[].b +c');
  expect(essence(status(422, 'Invalid', 'a', 'b'), status(422, 'Invalid', 'b', 'a'), '.body.message')).toBeUndefined();
  expect(essence({ status: 200, body: {} }, { status: 200, body: {} }, '.body.spec.a', '.warnings')).toBe(
    'object .body.spec.a',
  );
  expect(essence({ status: 200, body: {} }, { status: 200, body: {} }, '.warnings')).toBeUndefined();
});

test('with --exact, messages and warnings count too', () => {
  const failure = (path: string, answer: object) => ({ step: 1, what: '', diffs: [[path, 1, 2] as const], answer });
  const refused = { status: 400, body: { kind: 'Status', status: 'Failure', reason: 'BadRequest' } };
  expect(essenceOf(failure('.body.message', refused), refused, true)).toBe('text .body.message');
  const done = { status: 200, body: {} };
  expect(essenceOf(failure('.warnings', done), done, true)).toBe('text .warnings');
  expect(essenceOf({ step: 1, what: '', diffs: [], answer: done }, done, true)).toBeUndefined();
});

test('cases create new custom kinds, and send requests of a user with few rights', async () => {
  await withServers(never, async (real, plane, ground) => {
    const names = Array.from({ length: 300 }, (_, index) =>
      caseOf(7, index, ground.kinds, ground.schemas, ground.samples),
    );
    const play = async (only: number) => {
      const run = { seed: 7, requests: 20, only, ...ground, real: real.player, plane: plane.player };
      return await playSeed(run);
    };
    const statusesOf = async (only: number): Promise<readonly (number | undefined)[]> => {
      const whole = caseOf(7, only, ground.kinds, ground.schemas, ground.samples);
      const [recorded] = await real.player.record([whole]);
      return (recorded?.steps ?? []).map(({ answer }) => answer?.status);
    };
    const fresh = names.flatMap(({ name }, index) => (name.endsWith('new kind') ? [index] : []));
    const served = (await Promise.all(fresh.slice(0, 6).map(statusesOf))).filter((statuses) => statuses[1] === 200);
    expect(served.length).toBeGreaterThan(0);
    expect(served.some((statuses) => statuses.slice(2).includes(201))).toBe(true);
    const asUser = names.flatMap(({ name }, index) => (name.endsWith('as a user') ? [index] : []));
    const answers = (await Promise.all(asUser.slice(0, 4).map(statusesOf))).flat();
    expect(answers).toContain(403);
    expect((await play(fresh[0] ?? 0)).found).toEqual([]);
    expect((await play(asUser[0] ?? 0)).found).toEqual([]);
  });
});

test('a rule explains a node port that a server has picked, and no other cell', () => {
  const difference = (expected: string, actual: string) => {
    const step = { request: 'GET /api/v1/services', answer: { status: 200, body: {} } };
    const diffs = [['.body.rows[0].cells[4]', expected, actual] as const];
    const failures = [{ step: 1, what: '', diffs, answer: { status: 200, body: {} } }];
    const found = firstDifference({ name: 'seed 1, case 1', steps: [step] }, failures);
    if (found === undefined) throw new Error('no difference was found');
    return ruleOf(found)?.name;
  };
  expect(difference('80:31568/TCP', '80:30546/TCP')).toBe('node ports in Tables');
  expect(difference('80:31568/TCP', '81:30546/TCP')).toBeUndefined();
  expect(difference('80/TCP', '81/TCP')).toBeUndefined();
});

test('a rule explains a continue token behind the last object that a selector selects, and no other', () => {
  const difference = (request: string, expected: unknown, actual: unknown) => {
    const step = { request, answer: { status: 200, body: {} } };
    const diffs = [['.body.metadata.continue', expected, actual] as const];
    const failures = [{ step: 1, what: '', diffs, answer: { status: 200, body: {} } }];
    const found = firstDifference({ name: 'seed 1, case 1', steps: [step] }, failures);
    if (found === undefined) throw new Error('no difference was found');
    return ruleOf(found)?.name;
  };
  const selected = 'GET /api/v1/nodes?labelSelector=a%3Db&limit=1';
  expect(difference(selected, '<continue>', undefined)).toBe('the end of a page that contains objects of other cases');
  expect(difference(selected, '', '<continue>')).toBe('the end of a page that contains objects of other cases');
  expect(difference('GET /api/v1/nodes?limit=1', '<continue>', undefined)).toBeUndefined();
  const own = 'GET /api/v1/namespaces/${ns}/pods?labelSelector=a%3Db&limit=1';
  expect(difference(own, '<continue>', undefined)).toBeUndefined();
});

test('a rule explains another order of the rules in a SelfSubjectRulesReview, and no other rules', () => {
  const review = (...verbs: string[]) => ({ status: { resourceRules: verbs.map((verb) => ({ verbs: [verb] })) } });
  const difference = (expected: object, actual: object, path = '.body.status.resourceRules[0].verbs[0]') => {
    const step = {
      request: 'POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      answer: { status: 201, body: expected },
    };
    const failures = [
      { step: 1, what: '', diffs: [[path, 'get', 'list'] as const], answer: { status: 201, body: actual } },
    ];
    const found = firstDifference({ name: 'seed 1, case 1', steps: [step] }, failures);
    if (found === undefined) throw new Error('no difference was found');
    return ruleOf(found)?.name;
  };
  const order = 'the order of rules in a SelfSubjectRulesReview';
  expect(difference(review('get', 'list'), review('list', 'get'))).toBe(order);
  expect(difference(review('get', 'list'), review('list', 'watch'))).toBeUndefined();
  expect(difference(review('get', 'list'), review('list', 'get'), '.body.kind')).toBeUndefined();
});

test('the random order of errors in a CRD and generated type names are excused, other errors are not', () => {
  const refused = (...messages: string[]): unknown => ({
    reason: 'Invalid',
    message: messages.join(),
    details: { causes: messages.map((message) => ({ field: 'spec', message })) },
  });
  const excuse = (expected: unknown, actual: unknown, path = '.body.message'): string | undefined => {
    const answer = { status: 422, body: actual };
    const recorded = {
      name: 'c',
      steps: [{ request: 'POST /apis/x/v1/customresourcedefinitions', answer: { status: 422, body: expected } }],
    };
    const failure = { step: 1, what: '', diffs: [[path, 1, 2] as const], answer };
    const found = firstDifference(recorded, [failure], true);
    if (found === undefined) throw new Error('no difference was found');
    return ruleOf(found)?.name;
  };
  const name = 'the order of errors in a CRD, and generated type names';
  expect(excuse(refused('a', 'b'), refused('b', 'a'))).toBe(name);
  expect(excuse(refused('of selfType123.a'), refused('of selfType.a'))).toBe(name);
  expect(excuse(refused('a', 'b'), refused('a', 'c'))).toBeUndefined();
  expect(excuse(refused('a'), refused('a'), '.body.reason')).toBeUndefined();
});

test('a field path with a large integer is excused, another field path is not', () => {
  const excuse = (...paths: string[]): string | undefined => {
    const step = { request: 'PATCH /apis/x/v1/things/a', answer: { status: 200, body: {} } };
    const diffs = paths.map((path) => [path, 1, 2] as const);
    const failure = { step: 1, what: '', diffs, answer: { status: 200, body: {} } };
    const found = firstDifference({ name: 'c', steps: [step] }, [failure], true);
    if (found === undefined) throw new Error('no difference was found');
    return ruleOf(found)?.name;
  };
  const item = (value: string): string => `.body.metadata.managedFields[~0].fieldsV1.f:status.f:b.v:${value}`;
  const version = '.body.metadata.resourceVersion';
  expect(excuse(version, item('9223372036854775807'))).toBe('large integers in the field paths of a manager');
  expect(excuse(item('9223372036854775807'), item('7'))).toBeUndefined();
  const keyed = (port: string): string =>
    `.body.metadata.managedFields[~0].fieldsV1.f:spec.f:ports.k:{"port":${port},"protocol":"TCP"}`;
  expect(excuse(version, keyed('9007199254740993'))).toBe('large integers in the field paths of a manager');
  expect(excuse(keyed('9007199254740993'), keyed('80'))).toBeUndefined();
  expect(excuse(version)).toBeUndefined();
});

test('a binding to an aggregated role that only one server refuses is excused, in JSON and in YAML', () => {
  const words = 'user "u" is attempting to grant RBAC permissions not currently held';
  const excuse = (name: string, answer: { status: number; body?: unknown; text?: string }): string | undefined => {
    const body = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name } };
    const step = { request: 'POST /apis/x/rolebindings', body, answer: { status: 201, body: {} } };
    const failure = { step: 1, what: '', diffs: [['.status', 201, 403] as const], answer };
    const found = firstDifference({ name: 'c', steps: [step] }, [failure], true);
    if (found === undefined) throw new Error('no difference was found');
    return ruleOf(found)?.name;
  };
  const name = 'the permissions of aggregated roles';
  expect(excuse('view', { status: 403, body: { message: words } })).toBe(name);
  expect(excuse('view', { status: 403, text: `message: ${words}` })).toBe(name);
  expect(excuse('view', { status: 403 })).toBeUndefined();
  expect(excuse('own', { status: 403, body: { message: words } })).toBeUndefined();
});

test('shrinking stops at the smallest case with a difference between the servers', async () => {
  const answer = { status: 200, body: { kind: 'ConfigMap' } };
  const player = (status: number): Player => ({
    record: async (cases) => cases.map((each) => ({ ...each, steps: each.steps.map((step) => ({ ...step, answer })) })),
    compare: async (cases) =>
      new Map(
        cases.map(({ name, steps }) => [
          name,
          steps.flatMap((step, index) =>
            JSON.stringify(step.body ?? '').includes('needed')
              ? [{ step: index + 1, what: '', diffs: [['.status', 200, status] as const], answer: { status } }]
              : [],
          ),
        ]),
      ),
  });
  const request = 'POST /api/v1/namespaces/x/configmaps';
  const steps = [{ request, body: { a: 1 } }, { request }, { request, body: { a: [1, { needed: 2, b: 3 }], c: 4 } }];
  const attempt = tryWith(player(200), player(500));
  const found = await attempt({ name: 'seed 1, case 1', steps });
  if (found === undefined) throw new Error('no difference was found');
  const small = await shrink(found, attempt);
  expect(small.case.steps.map(({ body }) => body)).toEqual([{ a: [{ needed: 2 }] }]);
});

test('without KUBEBUILDER_ASSETS the fuzzer names the variable and ends with status 2', async () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const { KUBEBUILDER_ASSETS: _, ...env } = process.env;
  const run = (args: readonly string[]): Promise<{ code: unknown; stderr: string }> =>
    new Promise((resolve) => {
      execFile(process.execPath, ['--conditions=source', main, ...args], { env }, (error, _stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stderr }),
      );
    });
  const [missing, wrong] = await Promise.all([run([]), run(['--seed', 'x'])]);
  expect(missing.code).toBe(2);
  expect(missing.stderr).toMatch(
    /^fuzz:control-plane: set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd/,
  );
  expect(wrong.stderr).toBe('fuzz:control-plane: --seed must be a whole number, not x\n');
});

test('a difference that does not occur in each replay is listed on its own', async () => {
  const mayDiffer = { left: 0 };
  const isWrong = ({ method, url }: Request): boolean =>
    method === 'POST' && url.includes('/configmaps') && mayDiffer.left-- > 0;
  await withServers(isWrong, async (real, plane, ground) => {
    const kinds = ground.kinds.filter(({ kind }) => kind === 'ConfigMap');
    const run = { seed: 1, requests: 20, only: 0, ...ground, kinds, real: real.player, plane: plane.player };
    mayDiffer.left = 1;
    const once = await playSeed(run);
    expect([once.found.length, once.unsteady.length]).toEqual([0, 1]);
    expect(reportLines(1, once, false).at(-1)).toMatch(/0 differences in 0 classes, 1 did not occur again$/);
    mayDiffer.left = 2;
    const twice = await playSeed(run);
    expect([twice.found.length, twice.unsteady.length]).toEqual([0, 1]);
    mayDiffer.left = Number.POSITIVE_INFINITY;
    const always = await playSeed(run);
    expect([always.found.length, always.unsteady.length]).toEqual([1, 0]);
  });
});

test('a case without an answer is broken, and a server without any answer ends the run', async () => {
  const cases = ['a', 'b'].map((name) => ({ name, steps: [{ request: 'GET /api/v1/nodes' }] }));
  const playWithout = async (silent: readonly string[]) => {
    const failures = [{ step: 1, what: 'runner', diffs: [['', undefined, 'socket hang up'] as const] }];
    const results = cases.map(({ name }) => ({ name, failures: silent.includes(name) ? failures : [] }));
    const player = createPlayer({ ...runner, runBattery: async () => ({ results }) }, undefined, [], 1);
    try {
      return (await player.record(cases)).map(({ steps, broken }) => [steps.length, broken]);
    } finally {
      player.close();
    }
  };
  expect(await playWithout(['a'])).toEqual([
    [0, 'socket hang up'],
    [1, undefined],
  ]);
  await expect(playWithout(['a', 'b'])).rejects.toThrow('the server answers none of the cases: socket hang up');
});
