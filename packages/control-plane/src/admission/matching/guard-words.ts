import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { SelectorObject } from '../../selectors/label-selector.ts';
import { wordsOfLabels, wordsOfSelector } from '../../selectors/selector-words.ts';
import type { MatchRule } from './match.ts';

export interface About {
  /** The rules of a webhook or policy. An empty list matches every request. */
  readonly rules: readonly MatchRule[];
  readonly namespaceSelector?: SelectorObject | undefined;
  readonly objectSelector?: SelectorObject | undefined;
}

const ANY = '*';
const EVERY_RULE: MatchRule = { operations: [ANY], apiGroups: [ANY], resources: ['*/*'] };

const word = (operation: string, group: string, resource: string, part: string): string =>
  `${operation} ${group} ${resource} ${part}`;

/**
 * An index key consists of operation, group, resource and subresource. An index key contains no version and no scope,
 * so the caller checks the versions and scopes of the rules.
 */
export function resourceWordsOf(rules: readonly MatchRule[]): ReadonlySet<string> {
  const words = new Set<string>();
  for (const { operations = [], apiGroups = [], resources = [] } of rules.length === 0 ? [EVERY_RULE] : rules) {
    for (const pattern of resources) {
      const [resource = '', part = ''] = pattern.split('/');
      for (const operation of operations) {
        for (const group of apiGroups) words.add(word(operation, group, resource, part));
      }
    }
  }
  return words;
}

/** Each part of an index key is a value of the request or a wildcard. */
export function resourceWordsFor({ operation, served, subresource }: AdmissionAttributes): readonly string[] {
  const { group, plural } = served.kind;
  const words: string[] = [];
  for (const one of [operation, ANY]) {
    for (const inGroup of [group, ANY]) {
      for (const resource of [plural, ANY]) {
        for (const part of [subresource, ANY]) words.push(word(one, inGroup, resource, part));
      }
    }
  }
  return words;
}

export type Narrowing = 'name' | 'namespace' | 'object';

/**
 * The index words of a guard that limits itself to names, namespaces or objects. Any other guard applies to every
 * request for its resources.
 */
export interface NarrowWords {
  readonly by: Narrowing;
  readonly words: readonly string[];
}

const wordsIn = (selector: SelectorObject | undefined): readonly string[][] =>
  selector === undefined ? [] : wordsOfSelector('', selector).filter(([first]) => first !== NO_VALUE);

const [NO_VALUE = ''] = wordsOfLabels('', undefined);

export function narrowWordsOf({ rules, namespaceSelector, objectSelector }: About): readonly NarrowWords[] {
  const named = rules.length > 0 && rules.every(({ resourceNames = [] }) => resourceNames.length > 0);
  const names = named ? [...new Set(rules.flatMap(({ resourceNames = [] }) => resourceNames))] : undefined;
  return [
    ...(names === undefined ? [] : [{ by: 'name', words: names } as const]),
    ...wordsIn(namespaceSelector).map((words) => ({ by: 'namespace', words }) as const),
    ...wordsIn(objectSelector).map((words) => ({ by: 'object', words }) as const),
  ];
}

export function narrowWordsFor(
  { name, object, old }: AdmissionAttributes,
  namespaceLabels: Readonly<Record<string, string>> | undefined,
): Readonly<Record<Narrowing, readonly string[]>> {
  return {
    name: [name],
    namespace: wordsOfLabels('', namespaceLabels),
    object: [...wordsOfLabels('', object?.metadata.labels), ...wordsOfLabels('', old?.metadata.labels)],
  };
}
