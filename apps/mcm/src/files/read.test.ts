import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { documentsOf, readObjects } from './read.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcm-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function put(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  return path;
}

const configMap = (name: string, value = 'x') =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: ${value}\n`;
const names = (objects: readonly { readonly metadata: { readonly name: string } }[]) =>
  objects.map(({ metadata }) => metadata.name);

test.each([
  ['0644', 420],
  ['0o644', 420],
  ['0x1f', 31],
  ['yes', true],
  ['off', false],
  ['"yes"', 'yes'],
  ['y', true],
  ['1_000', 1000],
  ['12:30', '12:30'],
  ['2020-01-01', '2020-01-01'],
  ['~', null],
  ['1e3', 1000],
])('%s has the value that kubectl apply stores', async (text, value) => {
  const [object] = await readObjects([await put('a.yaml', configMap('a', text))]);
  expect(object).toMatchObject({ data: value });
});

test('several files, a directory and standard input are read in this order, and subdirectories only on request', async () => {
  const first = await put('first.yaml', configMap('first'));
  await put('dir/b.yml', configMap('b'));
  await put('dir/sub/a.json', JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }));
  await put('dir/notes.txt', 'not read');
  const stdin = Readable.from([configMap('from-'), `---\n${configMap('stdin')}`]);
  const objects = await readObjects([first, join(folder, 'dir'), '-'], {}, stdin);
  expect(names(objects)).toEqual(['first', 'b', 'from-', 'stdin']);
  expect(names(await readObjects([join(folder, 'dir')], { recursive: true }))).toEqual(['b', 'a']);
  await expect(readObjects(['-', '-'], {}, stdin)).rejects.toThrow('standard input (-) can be given only once');
});

test.each([
  ['line ends of Windows', `${configMap('a')}---\n${configMap('b')}`.replaceAll('\n', '\r\n')],
  ['a byte order mark', `\uFEFF${configMap('a')}---\n${configMap('b')}`],
])('a file with %s has the same objects', async (_what, text) => {
  const objects = await readObjects([await put('windows.yaml', text)]);
  expect(objects).toMatchObject([
    { metadata: { name: 'a' }, data: 'x' },
    { metadata: { name: 'b' }, data: 'x' },
  ]);
});

test('files without an object are an error, because the program before the pipe probably failed', async () => {
  const empty = await put('empty.yaml', '# only a comment\n---\n');
  await expect(readObjects(['-'], {}, Readable.from([]))).rejects.toThrow('standard input contains no objects');
  await expect(readObjects([empty, '-'], {}, Readable.from(['\n']))).rejects.toThrow(
    `${empty}, standard input contains no objects`,
  );
  expect(names(await readObjects([empty, await put('a.yaml', configMap('a'))]))).toEqual(['a']);
});

test('a List is read as its objects', async () => {
  const items = ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  const path = await put('list.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', metadata: {}, items }));
  expect(names(await readObjects([path]))).toEqual(['a', 'b']);
});

test('a directory without files of objects is refused, and a link in a directory is read', async () => {
  const dir = join(folder, 'dir');
  await put('dir/notes.txt', 'not read');
  await expect(readObjects([dir])).rejects.toThrow(`${dir} contains no file with the extension .json, .yaml or .yml`);
  await symlink(await put('elsewhere.yaml', configMap('linked')), join(dir, 'link.yaml'));
  expect(names(await readObjects([dir]))).toEqual(['linked']);
});

test('a path below a file is not a missing path', async () => {
  const path = join(await put('a.yaml', configMap('a')), 'b.yaml');
  await expect(readObjects([path])).rejects.toThrow(`cannot read ${path}: ENOTDIR`);
});

test('a line that starts with three dashes separates documents, and only a comment may follow it', async () => {
  expect(documentsOf('a: 1\n--- \nb: |\n  ---\n--- # the second\nc: 1\n')).toEqual([
    'a: 1\n',
    '\nb: |\n  ---\n',
    '\nc: 1\n',
  ]);
  const path = await put('a.yaml', `${configMap('a')}---c\n${configMap('b')}`);
  await expect(readObjects([path])).rejects.toThrow(`${path}: invalid YAML document separator: c`);
});

test('a stream of JSON objects has several documents', async () => {
  const objects = ['a', '} {"'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  const text = objects.map((object) => JSON.stringify(object, null, 1)).join('\n');
  expect(names(await readObjects([await put('a.json', `${text}\n`)]))).toEqual(['a', '} {"']);
  const flow = await put('flow.yaml', '{apiVersion: v1, kind: ConfigMap, metadata: {name: flow}} # a comment\n');
  expect(names(await readObjects([flow]))).toEqual(['flow']);
});

const deployment = (more: string) => `apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: { name: workers, labels: { any: thing } }
spec:
  replicas: 1
  selector: { matchLabels: { a: b } }
  template:
    metadata: { labels: { a: b } }
    spec: { class: { kind: MachineClass, name: small } }
${more}`;

test.each([
  ['  replica: 2', 'unknown field "spec.replica"'],
  [
    '  strategy: { type: RollingUpdate, rollingUpdate: { maxSurge: 1, surge: 2 } }\n  x: 1',
    'rollingUpdate.surge", unknown field "spec.x"',
  ],
])('a field that the kind does not have is refused, as kubectl apply refuses it: %s', async (more, problem) => {
  const path = await put('workers.yaml', deployment(more));
  await expect(readObjects([path])).rejects.toThrow(problem);
  await expect(readObjects([path])).rejects.toThrow(`${path}: MachineDeployment workers: unknown field "spec.`);
});

test('an unknown field of metadata is refused', async () => {
  const path = await put('workers.yaml', deployment('').replace('labels: { any', 'lables: { any'));
  await expect(readObjects([path])).rejects.toThrow('unknown field "metadata.lables"');
});

test('free fields are accepted: labels, and the provider spec of a class', async () => {
  const path = await put(
    'ok.yaml',
    `${deployment('')}---
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineClass
metadata: { name: small }
provider: Local
providerSpec: { anything: { goes: 1 } }
secretRef: { name: s, namespace: default }
`,
  );
  expect(names(await readObjects([path]))).toEqual(['workers', 'small']);
});

test('a text that is not YAML is refused with the file and the line', async () => {
  const path = await put('bad.yaml', 'a: 1\nb: [1, 2\n');
  await expect(readObjects([path])).rejects.toThrow(
    new RegExp(`^${path}: error converting YAML to JSON: yaml: line \\d`),
  );
});
