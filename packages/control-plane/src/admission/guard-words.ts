import type { AdmissionAttributes } from '../resources/admission.ts';
import type { SelectorObject } from '../selectors/label-selector.ts';
import { wordsOfLabels, wordsOfSelector } from '../selectors/selector-words.ts';
import type { MatchRule } from './match.ts';

/** What a webhook, a policy or a binding of one is about, as far as it can be found by that. */
export interface About {
  /** None: every request. */
  readonly rules: readonly MatchRule[];
  readonly namespaceSelector?: SelectorObject | undefined;
  readonly objectSelector?: SelectorObject | undefined;
}

const ANY = '*';
const EVERY_RULE: MatchRule = { operations: [ANY], apiGroups: [ANY], resources: ['*/*'] };

const word = (operation: string, group: string, resource: string, part: string): string =>
  `${operation} ${group} ${resource} ${part}`;

/** Under which words of operation, group, resource and subresource rules stand. Versions and scopes are looked at later. */
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

/** Every word under which a rule about a request can stand: each part as it is, or any. */
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

/** By what else of a request a guard can be found, beside its resource. */
export type Narrowing = 'name' | 'namespace' | 'object';

/** Sets of words by which a guard can be found further; one set suffices. None: every request to its resources is to ask it. */
export interface NarrowWords {
  readonly by: Narrowing;
  readonly words: readonly string[];
}

const wordsIn = (selector: SelectorObject | undefined): readonly string[][] =>
  selector === undefined ? [] : wordsOfSelector('', selector).filter(([first]) => first !== NO_VALUE);

/** What a selector that asks for no value stands under. */
const [NO_VALUE = ''] = wordsOfLabels('', undefined);

/** The ways in which a guard can be found. */
export function narrowWordsOf({ rules, namespaceSelector, objectSelector }: About): readonly NarrowWords[] {
  const named = rules.length > 0 && rules.every(({ resourceNames = [] }) => resourceNames.length > 0);
  const names = named ? [...new Set(rules.flatMap(({ resourceNames = [] }) => resourceNames))] : undefined;
  return [
    ...(names === undefined ? [] : [{ by: 'name', words: names } as const]),
    ...wordsIn(namespaceSelector).map((words) => ({ by: 'namespace', words }) as const),
    ...wordsIn(objectSelector).map((words) => ({ by: 'object', words }) as const),
  ];
}

/** The words of a request, by which guards are found that are narrowed in this way. */
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
