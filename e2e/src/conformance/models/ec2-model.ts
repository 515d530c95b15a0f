import { createRequire } from 'node:module';

type Schema = readonly [3, string, string, unknown, readonly string[], readonly Member[]];
type ListSchema = readonly [1, string, string, unknown, Member];
type NamedSchema = readonly [0, string, string, unknown, number];
type Type = number | Schema | ListSchema | NamedSchema | (() => Type);
/** A type with or without traits. */
type Member = Type | readonly [Type, Readonly<Record<string, string>> | number];

export interface Node {
  readonly name: string;
  readonly text: string;
  readonly children: readonly Node[];
}

type Sdk = Readonly<Record<string, unknown>>;

// The model must use the same version of the SDKs as the driver, so Node.js resolves the SDKs from the driver's
// package.
const ofDriver = createRequire(new URL('../../../../providers/aws/package.json', import.meta.url));
const ec2: Sdk = ofDriver('@aws-sdk/client-ec2');
const sts: Sdk = ofDriver('@aws-sdk/client-sts');

/** Parses the XML that the emulators send. */
export function parseXml(xml: string): Node {
  const tokens = xml.replace(/^<\?[^>]*\?>/, '').match(/<[^>]+>|[^<]+/g) ?? [];
  const open: { name: string; text: string; children: Node[] }[] = [{ name: '', text: '', children: [] }];
  for (const token of tokens) {
    const top = open.at(-1);
    if (!top) throw new Error('more closing tags than opening tags');
    if (token.startsWith('</')) {
      if (token !== `</${top.name}>`) throw new Error(`${token} ends ${top.name}`);
      open.pop();
      open.at(-1)?.children.push(top);
    } else if (token.startsWith('<'))
      open.push({ name: token.slice(1, -1).split(' ')[0] ?? '', text: '', children: [] });
    else top.text += token;
  }
  const [root] = open[0]?.children ?? [];
  if (!root || open.length !== 1) throw new Error('the response is incomplete');
  return root;
}

/** For each simple type in the responses, a pattern for its values. */
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
    Array.isArray(member) && member.length === 2
      ? (member as [Type, Record<string, string> | number])
      : [member as Type, {}];
  let type = first;
  while (typeof type === 'function') type = type();
  if (Array.isArray(type) && type[0] === 0) type = (type as NamedSchema)[4];
  return { type: type as number | Schema | ListSchema, traits: isTraits(traits) ? traits : {} };
}

/** Returns a line for each difference between an EC2 response and the schema in the SDK. */
export function ec2Differences(action: string, root: Node): readonly string[] {
  if (root.name !== `${action}Response`) return [`the response is ${root.name}`];
  const schema = answerOf(ec2, action);
  const known = root.children.filter(({ name }) => name !== 'requestId');
  // If an action has no result, its response states only the success.
  if (!Array.isArray(schema) || schema[4].length === 0)
    return known.filter(({ name }) => name !== 'return').map(({ name }) => `${name}: the response of EC2 is empty`);
  return structure(schema as Schema, { ...root, children: known }, action);
}

export function stsDifferences(action: string, root: Node): readonly string[] {
  if (root.name !== `${action}Response`) return [`the response is ${root.name}`];
  const [result, metadata, ...more] = root.children;
  if (result?.name !== `${action}Result` || metadata?.name !== 'ResponseMetadata' || more.length > 0)
    return [`the response contains ${root.children.map(({ name }) => name).join(', ')}`];
  const schema = answerOf(sts, action);
  if (!Array.isArray(schema)) return [`the SDK has no ${action}`];
  return structure(schema as Schema, result, action);
}

function answerOf(sdk: Sdk, action: string): number | Schema | ListSchema {
  const operation = sdk[`${action}$`];
  if (!Array.isArray(operation)) throw new Error(`the SDK has no ${action}`);
  return plain(operation[5] as Member).type;
}

function structure([, , type, , names, members]: Schema, node: Node, path: string): readonly string[] {
  const fields = new Map(members.map((member, i) => [plain(member).traits.xmlName ?? names[i] ?? '', member]));
  return node.children.flatMap((child) => {
    const at = `${path}.${child.name}`;
    const member = fields.get(child.name);
    return member === undefined ? [`${at}: is not a field of ${type}`] : value(member, child, at);
  });
}

function value(member: Member, node: Node, path: string): readonly string[] {
  const { type } = plain(member);
  if (typeof type === 'number') {
    const pattern = SCALARS[type];
    if (!pattern) return [`${path}: unknown type: ${type}`];
    return node.children.length === 0 && pattern.test(node.text)
      ? []
      : [`${path}: ${node.text || 'elements'} does not have the type ${type}`];
  }
  if (type[0] === 3) return structure(type, node, path);
  return node.children.flatMap((item, i) => {
    const at = `${path}[${i}]`;
    return item.name === 'item' ? value((type as ListSchema)[4], item, at) : [`${at}: ${item.name} is not an item`];
  });
}
