import { createRequire } from 'node:module';

/** The SDK's schema of a structure: kind 3, namespace, name, traits, members' names and types. */
type Schema = readonly [3, string, string, unknown, readonly string[], readonly Member[]];
/** A list: kind 1, its element last. */
type ListSchema = readonly [1, string, string, unknown, Member];
type Type = number | Schema | ListSchema | (() => Type);
/** A type, or a type with traits. */
type Member = Type | readonly [Type, Readonly<Record<string, string>>];

/** An XML element: its name, and its text or its elements. */
export interface Node {
  readonly name: string;
  readonly text: string;
  readonly children: readonly Node[];
}

// The driver's own SDK, not one beside it.
const sdk: Readonly<Record<string, unknown>> = createRequire(
  new URL('../../../../providers/aws/package.json', import.meta.url),
)('@aws-sdk/client-ec2');

/** Reads XML as the emulators write it: elements and texts, no attributes but on the root. @throws Error */
export function parseXml(xml: string): Node {
  const tokens = xml.replace(/^<\?[^>]*\?>/, '').match(/<[^>]+>|[^<]+/g) ?? [];
  const open: { name: string; text: string; children: Node[] }[] = [{ name: '', text: '', children: [] }];
  for (const token of tokens) {
    const top = open.at(-1);
    if (!top) throw new Error('too many ends');
    if (token.startsWith('</')) {
      if (token !== `</${top.name}>`) throw new Error(`${token} ends ${top.name}`);
      open.pop();
      open.at(-1)?.children.push(top);
    } else if (token.startsWith('<'))
      open.push({ name: token.slice(1, -1).split(' ')[0] ?? '', text: '', children: [] });
    else top.text += token;
  }
  const [root] = open[0]?.children ?? [];
  if (!root || open.length !== 1) throw new Error('half an answer');
  return root;
}

/** Smithy's numbers of simple types; others are not told by these actions. */
const SCALARS: Readonly<Record<number, RegExp>> = {
  0: /^/,
  1: /^-?\d+(\.\d+)?$/,
  2: /^(true|false)$/,
  4: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
  5: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
};

const isTraits = (each: unknown): each is Readonly<Record<string, string>> =>
  typeof each === 'object' && each !== null && !Array.isArray(each);

function plain(member: Member): { type: number | Schema | ListSchema; traits: Readonly<Record<string, string>> } {
  const [first, traits] =
    Array.isArray(member) && isTraits(member[1]) && member.length === 2
      ? (member as [Type, Record<string, string>])
      : [member as Type, {}];
  let type = first;
  while (typeof type === 'function') type = type();
  return { type, traits };
}

/** Where an answer is not what the SDK's schema says, one line each. */
export function ec2Differences(action: string, root: Node): readonly string[] {
  if (root.name !== `${action}Response`) return [`the answer is ${root.name}`];
  const operation = sdk[`${action}$`];
  if (!Array.isArray(operation)) return [`the SDK has no ${action}`];
  const { type: schema } = plain(operation[5] as Member);
  const known = root.children.filter(({ name }) => name !== 'requestId');
  // Actions that answer nothing tell that they have worked.
  if (!Array.isArray(schema) || schema[4].length === 0)
    return known.filter(({ name }) => name !== 'return').map(({ name }) => `${name}: nothing is answered`);
  return structure(schema as unknown as Schema, { ...root, children: known }, action);
}

function structure([, , type, , names, members]: Schema, node: Node, path: string): readonly string[] {
  const fields = new Map(members.map((member, i) => [plain(member).traits.xmlName ?? names[i] ?? '', member]));
  return node.children.flatMap((child) => {
    const at = `${path}.${child.name}`;
    const member = fields.get(child.name);
    return member === undefined ? [`${at}: is no field of ${type}`] : value(member, child, at);
  });
}

function value(member: Member, node: Node, path: string): readonly string[] {
  const { type } = plain(member);
  if (typeof type === 'number') {
    const pattern = SCALARS[type];
    if (!pattern) return [`${path}: a type that is not known here: ${type}`];
    return node.children.length === 0 && pattern.test(node.text)
      ? []
      : [`${path}: ${node.text || 'elements'} is no simple type ${type}`];
  }
  if (type[0] === 3) return structure(type, node, path);
  return node.children.flatMap((item, i) => {
    const at = `${path}[${i}]`;
    return item.name === 'item' ? value((type as ListSchema)[4], item, at) : [`${at}: ${item.name} is no item`];
  });
}
