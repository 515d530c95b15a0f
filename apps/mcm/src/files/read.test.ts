import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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

test('several files, a directory with its subdirectories and standard input are read in this order', async () => {
  const first = await put('first.yaml', configMap('first'));
  await put('dir/b.yml', configMap('b'));
  await put('dir/sub/a.json', JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }));
  await put('dir/notes.txt', 'not read');
  const stdin = Readable.from([configMap('from-'), `---\n${configMap('stdin')}`]);
  const objects = await readObjects([first, join(folder, 'dir'), '-'], stdin);
  expect(names(objects)).toEqual(['first', 'b', 'a', 'from-', 'stdin']);
  await expect(readObjects(['-', '-'], stdin)).rejects.toThrow('- can be given only once');
});

test('a List is the objects in it', async () => {
  const items = ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  const path = await put('list.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', metadata: {}, items }));
  expect(names(await readObjects([path]))).toEqual(['a', 'b']);
});

test('only a line of three dashes alone separates documents', () => {
  expect(documentsOf('a: 1\n--- \nb: |\n  ---\n---c\n')).toEqual(['a: 1\n', '\nb: |\n  ---\n---c\n']);
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
