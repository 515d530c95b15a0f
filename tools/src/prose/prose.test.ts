import { seededRandom } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { parseSource } from '../structure/sources.ts';
import { type Counts, excesses, printed, shrink } from './baseline.ts';
import { textsOfPage } from './pages.ts';
import { readPhrases } from './repository.ts';
import { check, sentencesOf, type Violation } from './rules.ts';
import { drawSample, figuresOf } from './sample.ts';
import { type Text, textsOf, textsOfYaml } from './texts.ts';

const phrases = readPhrases();
const rulesOf = (text: Text) => check(text, phrases).map(({ rule }) => rule);
const message = (text: string): Text => ({ kind: 'message', line: 1, text });

describe('check', () => {
  test.each([
    'A promise was rejected and nobody had waited for it; this is a fault of the driver',
    'who may not write the Lease is not ready and says what to grant',
    'Whether there is a Node to drain cannot be told; its time is up, and the VM goes',
    'from so many nodes that degraded on a pool’s target on, no further node is told it; 0: never',
    'VMs and Nodes that nothing stands for',
    'Runs as nobody in particular, writes nowhere, may become nothing else.',
    'Held back is the marking as Failed, and with it everything that follows from it.',
    'When many fall silent together none is replaced',
    'The set is read anew and mended',
    'The rollout goes on where it ended',
    'Who bears the finalizer is looked after by the other program',
    'what is no API server at the address of one',
  ])('the prose check rejects the old message "%s"', (old) => {
    expect(rulesOf(message(old))).not.toEqual([]);
  });

  test.each([
    'Unhandled promise rejection in driver code',
    'Reconcile stopped: not the leader, request not sent; retrying',
    'Cannot determine whether the machine has a Node; drain timeout expired, deleting the VM',
    'Orphaned VMs and Nodes',
    'Users who install mcm need access to both clusters.',
    'While the circuit breaker is open, no machine is marked Failed, so none is replaced or deleted.',
  ])('the prose check accepts the new message "%s"', (text) => {
    expect(check(message(text), phrases)).toEqual([]);
  });

  test('the prose check names the line of a phrase in a text of several lines', () => {
    const text: Text = { kind: 'comment', line: 40, text: 'First line.\nThe set is read anew.' };
    expect(check(text, phrases)).toEqual([{ rule: 'phrase', line: 41, message: '"anew" → again' }]);
  });

  test('the prose check finds a phrase in any case and across a line break', () => {
    expect(rulesOf({ kind: 'comment', line: 1, text: 'The rollout Goes\non.' })).toEqual(['phrase']);
  });

  test('the prose check limits a sentence to 25 words, and to 20 in a message', () => {
    const words = (count: number) => `Word${' word'.repeat(count - 1)}.`;
    expect(rulesOf({ kind: 'doc', line: 1, text: `${words(25)} ${words(25)}` })).toEqual([]);
    expect(rulesOf({ kind: 'doc', line: 1, text: `${words(25)} ${words(26)}` })).toEqual(['sentence']);
    expect(rulesOf({ kind: 'doc', line: 1, text: `${words(20)} mcm ends. mcm is a program of ${words(20)}` })).toEqual(
      [],
    );
    expect(rulesOf(message(words(20)))).toEqual([]);
    expect(rulesOf(message(words(21)))).toEqual(['sentence']);
  });

  test('the prose check reads the items of a list as sentences, and ignores the options of a command', () => {
    const items = `Both hold:\n- ${'word '.repeat(20)}\n- ${'word '.repeat(20)}anew`;
    expect(check({ kind: 'comment', line: 1, text: items }, phrases)).toEqual([
      { rule: 'phrase', line: 3, message: '"anew" → again' },
    ]);
    expect(rulesOf(message(`usage: mcm\n  --all  ${'word '.repeat(30)}`))).toEqual([]);
  });

  test.each([
    ['The path of a request. It is empty for a resource.', ['pronoun']],
    ['The headers.\nTheir names are in lower case.', ['pronoun']],
    ['A claim waits for its pod. Then the pod starts.', ['pronoun']],
    ['A node has left. This is the last event.', ['pronoun']],
    ['The fence. Undefined if no other process can be the leader.', ['pronoun']],
    ['Empty values count as absent.', []],
    ['The cache is empty, so it is read again. This controller waits.', []],
  ])('a sentence of a comment has its own subject: %s', (text, rules) => {
    expect(rulesOf({ kind: 'comment', line: 1, text })).toEqual(rules);
    expect(rulesOf({ kind: 'message', line: 1, text })).toEqual([]);
  });

  test.each([
    [', at most 1 more machine', ['fragment']],
    ['so autoscalers cannot scale the deployment', ['fragment']],
    ['whose node name is not a string', ['fragment']],
    ['which does not exist there', ['fragment']],
    [', and 3 more', []],
    ['the node name must be a string', []],
  ])('a message is a whole sentence: %s', (text, rules) => {
    expect(rulesOf(message(text))).toEqual(rules);
    expect(rulesOf({ kind: 'doc', line: 1, text })).toEqual([]);
  });

  test.each([
    ['no cause', ['cause']],
    ['the process exits after 10 s. The original also logs an error', ['cause']],
    ['in the original, the process exits after 10 s', []],
    ['reason: two processes could overwrite the status', []],
  ])('a cell of a column for the original or a reason names its kind: %s', (text, rules) => {
    const headings = ['In the original, or the reason', 'A subject'];
    expect(rulesOf({ kind: 'cell', line: 1, text, headings })).toEqual(rules);
    expect(rulesOf({ kind: 'cell', line: 1, text, headings: ['Meaning'] })).toEqual([]);
  });

  test.each([
    ['After a restore, VMs have no Machine. After a restore, Machines have no VM.', ['repeat']],
    ['With `a`, pods wait. With `a`, nodes wait.', ['repeat']],
    ['With `a`, pods wait. With `b`, nodes wait.', []],
    ['After a restore, VMs have no Machine. Machines have no VM after a restore.', []],
  ])('a page states a condition once: %s', (text, rules) => {
    const [paragraph = message('')] = textsOfPage(text);
    expect(rulesOf(paragraph)).toEqual(rules);
  });

  test.each([
    ['Such a Node belongs to a VM.', ['pronoun']],
    ['Therefore, use a new directory.', ['pronoun']],
    ['With these labels, the Machine belongs to the set.', ['pronoun']],
    ['In this repository, run the tests.', []],
    ['This page lists all flags.', []],
  ])('a sentence of a page does not depend on the sentence before: %s', (text, rules) => {
    expect(rulesOf({ kind: 'doc', line: 1, text })).toEqual(rules);
    expect(rulesOf({ kind: 'cell', line: 1, text })).toEqual(rules);
  });

  test('the prose check limits a table cell to 200 characters', () => {
    expect(rulesOf({ kind: 'cell', line: 1, text: 'a'.repeat(200) })).toEqual([]);
    expect(rulesOf({ kind: 'cell', line: 1, text: 'a'.repeat(201) })).toEqual(['cell']);
    const [, long = { kind: 'cell', line: 1, text: '' }] = textsOfPage(`| a |\n| - |\n| b \`${'x'.repeat(200)}\` |`);
    expect(rulesOf(long)).toEqual(['cell']);
  });
});

describe('texts', () => {
  test('the texts of TypeScript are comments, messages and titles, without code', () => {
    const text = [
      '// The first line',
      '// and the second one of `nobody`.',
      `const name = \`the machine $${'{x}'} was deleted\`;`,
      "const key = 'two words';",
      '/**',
      ' * A function of this file.',
      ' */',
      '// biome-ignore lint/a/b: this is read by a tool',
      "import { y } from 'some/module';",
      "const mutant = 'return marked && machines <= limit';",
    ].join('\n');
    expect(textsOf(parseSource('a.ts', text))).toEqual([
      { kind: 'comment', line: 1, text: 'The first line\nand the second one of CODE.', code: ['`nobody`'] },
      { kind: 'message', line: 3, text: 'the machine CODE was deleted', code: ['<x>'] },
      { kind: 'comment', line: 5, text: 'A function of this file.' },
    ]);
  });

  test('a message in several parts is one text', () => {
    const text = [
      `const more = many ? \`, and $${'{many}'} more\` : '';`,
      `fail(\`machine $${'{name}'} is deleted$${'{more}'} because of $${'{old ? "its age" : "its owner"}'}\`);`,
      "fail('the manager creates ' + count + ' machines');",
    ].join('\n');
    expect(textsOf(parseSource('a.ts', text)).map(({ text, code }) => [text, code])).toEqual([
      ['machine CODE is deleted, and CODE more because of its age', ['<name>', '<many>']],
      ['the manager creates CODE machines', ['<count>']],
    ]);
  });

  test.each(['self ? true : false', 'export const STYLE = all the rules', 'kubectl get nodes && echo all nodes'])(
    'a message that is code is no text: %s',
    (code) => expect(textsOf(parseSource('a.ts', `fail('${code}');`))).toEqual([]),
  );

  test.each([
    ['name', 'name'],
    ['machine.metadata.name', 'name'],
    ['pod.name', 'pod name'],
    ['names.length', 'number of names'],
    ["names.join(' and ')", 'names'],
    ['errorText(error)', 'error'],
    ["counted(machines.length, 'machine')", 'number of machines'],
    ['ms / 1000', 'ms'],
    ["lease.spec?.holder ?? ''", 'holder'],
    ["old ? 'its age' + 'x' : age", 'value'],
    ["[...known].join(', ')", 'known'],
    ['currencies[0]', 'currencies'],
    ['this.#secret', 'secret'],
    ['unhealthyText(o)', 'unhealthy'],
    ['String(value)', 'value'],
    ['machine.spec.healthTimeoutMs', 'health timeout'],
    ['instanceId', 'instance ID'],
  ])('a placeholder has the words of its expression: %s', (expression, words) => {
    const text = `fail(\`the machine waits for $${'{'}${expression}} now\`);`;
    expect(textsOf(parseSource('a.ts', text))[0]?.code).toEqual([`<${words}>`]);
  });

  test('a list of names has no texts', () => {
    const split = "const verbs = new Set('get list watch create update patch delete'.split(' '));";
    const fields = "const fields = all('text', 'maxPods podsPerCore clusterDomain');";
    expect(textsOf(parseSource('a.ts', `${split}\n${fields}`))).toEqual([]);
    expect(textsOf(parseSource('a.ts', "fail('get list watch create');"))).toHaveLength(1);
  });

  test('the result of a measurement is no text', () => {
    expect(textsOf(parseSource('a.ts', "const goal = '23 s; 10.3 writes, 6.2 reads; 35 ms CPU';"))).toEqual([]);
    expect(textsOf(parseSource('a.ts', "fail('the rollout took 23 s instead of 10 s');"))).toHaveLength(1);
  });

  test('the texts of a generated file in a string are its comments and the text of its elements', () => {
    const script = ['// The server escaped all texts.', 'const a = found;', '.find { color: red; }', 'if (a) {', '}'];
    const page = ['<p id="a">Reload the page.</p>', '<b>Or wait for it</b>', '| a | long table |'];
    const messages = [script, page].flatMap((lines) =>
      textsOf(parseSource('a.ts', `export const a = ${JSON.stringify(lines.join('\n'))};`)),
    );
    expect(messages.map(({ text }) => sentencesOf(text).join(' ').replace(/\W+/g, ' ').trim())).toEqual([
      'The server escaped all texts',
      'Reload the page Or wait for it',
    ]);
    expect(JSON.stringify(messages)).not.toMatch(/find|found|table/);
  });

  test('the texts of a test are its titles and comments, not its data', () => {
    const text = "test.each(['data of this test'])('reads the whole file', () => expect('data of this test').toBe(x));";
    expect(textsOf(parseSource('a.test.ts', text))).toEqual([{ kind: 'title', line: 1, text: 'reads the whole file' }]);
  });

  test('the texts of a page are headings, paragraphs and table cells, without code', () => {
    const page = [
      '---',
      'mcm: minor',
      '---',
      '# A `heading`',
      '',
      '| a |',
      '| - |',
      '| b `c \\| d` |',
      '',
      '```',
      'x y z',
      '```',
    ];
    expect(textsOfPage(page.join('\n'))).toEqual([
      { kind: 'doc', line: 4, text: 'A CODE', code: ['`heading`'] },
      { kind: 'cell', line: 6, text: 'a', shown: 1, headings: [] },
      { kind: 'cell', line: 8, text: 'b CODE', code: ['`c | d`'], shown: 7, headings: ['a'] },
    ]);
  });

  test('the bad examples of a table are not texts', () => {
    const page = '| Instead of | Write |\n| - | - |\n| It is read anew. | It is read again. |';
    expect(textsOfPage(page).map(({ text }) => text)).toEqual(['Instead of', 'Write', 'It is read again.']);
  });

  test('the texts of a manifest are its comments and the summaries of its alerts', () => {
    const yaml = [
      '# Flags by name,',
      '# without dashes.',
      'flags: {}',
      'summary: "Machine {{ $x }} has failed twice."',
    ];
    expect(textsOfYaml(yaml.join('\n'))).toEqual([
      { kind: 'comment', line: 1, text: 'Flags by name,\nwithout dashes.' },
      { kind: 'message', line: 4, text: 'Machine CODE has failed twice.', code: ['$x'] },
    ]);
  });

  test('the summary of an alert can have several lines, and escaped braces of a chart', () => {
    const yaml = [
      'description: "Machines for Kubernetes: sets, and the',
      '  controller of one provider"',
      'type: application',
    ];
    expect(textsOfYaml(yaml.join('\n'))).toEqual([
      { kind: 'message', line: 1, text: 'Machines for Kubernetes: sets, and the controller of one provider' },
    ]);
    expect(textsOfYaml('summary: Machine {{ `{{` }} $x {{ `}}` }} has failed twice.')).toEqual([
      { kind: 'message', line: 1, text: 'Machine CODE has failed twice.', code: ['$x'] },
    ]);
  });

  test.each([
    'kubectl get machines --all-namespaces --watch',
    'type(self) == int ? int(self) >= 0 : string(self) == "0"',
    '^the call of the driver was canceled$',
    '<Response><Error>AWS was not able to validate the credentials</Error></Response>',
  ])('code is no message: %s', (code) => {
    const source = `export const text = ${JSON.stringify(code)};`;
    expect(textsOf(parseSource('a.ts', source))).toEqual([]);
  });

  test('a sentence can end after code', () => {
    const [text] = textsOfPage('It reads `spec`. `spec` is an object.');
    expect(sentencesOf(text?.text ?? '')).toEqual(['It reads CODE.', 'CODE is an object.']);
  });

  test('texts are split into sentences, and an abbreviation ends none', () => {
    expect(sentencesOf('Start the instance with: mcm up')).toEqual(['Start the instance with: mcm up']);
    expect(sentencesOf('Use a port, e.g. 8080. The default\nis 443.')).toEqual([
      'Use a port, e.g. 8080.',
      'The default is 443.',
    ]);
  });
});

describe('baseline', () => {
  const violations = (count: number): Violation[] =>
    Array.from({ length: count }, (_, index) => ({ rule: 'phrase', line: index, message: '' }));

  test('the baseline reports a file that got worse, and a new file with one violation', () => {
    const found = new Map([
      ['same.ts', violations(2)],
      ['worse.ts', violations(3)],
      ['new.ts', violations(1)],
    ]);
    const bad = excesses(found, { 'same.ts': { phrase: 2 }, 'worse.ts': { phrase: 2 } });
    expect(bad.map(({ path, allowed }) => [path, allowed])).toEqual([
      ['worse.ts', 2],
      ['new.ts', 0],
    ]);
  });

  test('the baseline shrinks and follows a text that moved to another file', () => {
    const old: Counts = { 'a.ts': { phrase: 3, sentence: 1 } };
    expect(shrink({ 'a.ts': { phrase: 1, sentence: 1 }, 'b.ts': { phrase: 2 } }, old)).toEqual({
      'a.ts': { phrase: 1, sentence: 1 },
      'b.ts': { phrase: 2 },
    });
  });

  test('the baseline never grows: a new violation is still reported after an update', () => {
    const old: Counts = { 'a.ts': { phrase: 1 }, 'b.ts': { phrase: 2 } };
    expect(shrink({ 'a.ts': { phrase: 3 }, 'b.ts': { phrase: 1 } }, old)).toEqual({
      'a.ts': { phrase: 1 },
      'b.ts': { phrase: 1 },
    });
    expect(shrink({ 'a.ts': { person: 1 } }, old)).toEqual({});
  });

  test('the baseline has one line for each file, in the order of their paths', () => {
    expect(printed({ 'b.ts': { sentence: 1, phrase: 2 }, 'a.ts': { cell: 1 } })).toBe(
      '{\n  "a.ts": {"cell":1},\n  "b.ts": {"phrase":2,"sentence":1}\n}\n',
    );
  });
});

describe('sample', () => {
  const sentence = (index: number): Text => ({ kind: 'doc', line: index, text: `Sentence ${index} has five words.` });
  const texts = new Map([['a.md', Array.from({ length: 90 }, (_, index) => sentence(index))]]);

  test('the sample contains 30 different sentences of the docs, the same for a seed', () => {
    const drawn = (seed: number) => drawSample(texts, seededRandom(seed)).map((group) => group.drawn);
    const [docs = []] = drawn(7);
    expect(new Set(docs.map(({ text }) => text)).size).toBe(30);
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(8)).not.toEqual(drawn(7));
    expect(drawn(7).slice(1)).toEqual([[], []]);
  });

  test('the sample contains a sentence of several files only once', () => {
    const twice = new Map([...texts, ['b.md', texts.get('a.md') ?? []]] as const);
    expect(drawSample(twice, seededRandom(7))[0]?.drawn).toHaveLength(30);
    const three = new Map(['a.md', 'b.md', 'c.md'].map((path) => [path, [sentence(1)]] as const));
    expect(drawSample(three, seededRandom(7))[0]?.drawn).toHaveLength(1);
  });

  test('the sample contains sentences with their code, and table cells with their headings', () => {
    const texts = new Map<string, Text[]>([
      [
        'a.md',
        textsOfPage(
          '| Field | Meaning |\n| - | - |\n| `spec` | the `status` is written later |\n| x | `a` `b` c `d` |',
        ),
      ],
      [
        'a.ts',
        textsOf(parseSource('a.ts', `const a = \`The machine $${'{machine.name}'} of $${'{f(x)}'} is deleted\`;`)),
      ],
    ]);
    const drawn = drawSample(texts, seededRandom(1)).flatMap((group) => group.drawn.map(({ text }) => text));
    expect(drawn).toEqual([
      '[Meaning · spec] the `status` is written later',
      'The machine <machine name> of <x> is deleted',
    ]);
  });

  test('the sample counts removed phrases for 10,000 words', () => {
    const comments = new Map([['a.ts', [{ kind: 'comment', line: 1, text: 'It is read anew here.' } as const]]]);
    expect(figuresOf(comments, phrases).find(({ name }) => name === 'comments')).toEqual({
      name: 'comments',
      words: 5,
      phrases: 2000,
    });
  });
});
