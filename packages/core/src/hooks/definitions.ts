import { Annotations, type Machine, type MachineClass, parseDurationMs } from '@mcm/api';
import { conditionProblem } from './condition.ts';

/** The stages in the life of a machine at which the machine can wait for hooks. */
export const HOOK_STAGES = ['before-create', 'after-ready', 'before-drain', 'before-delete'] as const;

/** A stage in the life of a machine at which the machine can wait for hooks. */
export type HookStage = (typeof HOOK_STAGES)[number];

/** A step that another program executes while the machine waits. */
export interface Hook {
  readonly stage: HookStage;
  readonly name: string;
  /** The program or team that executes the step, for messages. */
  readonly owner: string;
  readonly timeoutMs: number;
  /** The action after the timeout of the hook: `Continue` ends the wait, and `Block` waits without a limit. */
  readonly afterTimeout: 'Continue' | 'Block';
  /** A condition in CEL, or undefined for a hook that applies to all machines. */
  readonly condition?: string;
}

/** The hooks of a machine, and one sentence for each invalid entry of the annotation. */
export interface HookDefinitions {
  readonly hooks: readonly Hook[];
  readonly problems: readonly string[];
}

const NO_HOOKS: HookDefinitions = { hooks: [], problems: [] };
const SYNTAX = 'write entries such as "before-drain backup backup-operator 30m Continue", separated by ";"';
/** The name of a hook is a part of an annotation key. The name in an annotation key has at most 63 characters. */
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const isStage = (text: string): text is HookStage => (HOOK_STAGES as readonly string[]).includes(text);

function parseEntry(entry: string): Hook | string {
  const [words, condition] = splitCondition(entry);
  const [stage = '', name = '', owner = '', timeout = '', afterTimeout = '', ...rest] = words.split(/\s+/);
  if (!isStage(stage)) return `the stage must be one of ${HOOK_STAGES.join(', ')}, not "${stage}"`;
  if (!NAME.test(name)) return `the name must be a lowercase DNS label, not "${name}"`;
  if (owner === '') return 'the owner of the hook is missing';
  const timeoutMs = parseDurationMs(timeout);
  if (timeoutMs === undefined || timeoutMs <= 0)
    return `the timeout must be a duration above 0s such as 30m, not "${timeout}"`;
  if (afterTimeout !== 'Continue' && afterTimeout !== 'Block')
    return `the action after the timeout must be Continue or Block, not "${afterTimeout}"`;
  if (rest.length > 0) return `"${rest.join(' ')}" is an unexpected word`;
  if (condition === undefined) return { stage, name, owner, timeoutMs, afterTimeout };
  const problem = conditionProblem(condition);
  if (problem !== undefined) return `the condition after "if" is invalid: ${problem}`;
  return { stage, name, owner, timeoutMs, afterTimeout, condition };
}

function splitCondition(entry: string): readonly [words: string, condition?: string] {
  const [, words, condition] = /^((?:\S+\s+){4}\S+)\s+if(?:\s+([\s\S]*))?$/.exec(entry) ?? [];
  return words === undefined ? [entry] : [words, (condition ?? '').trim()];
}

/** Parses the annotation with hooks, with a problem for each invalid entry. */
export function parseHooks(text: string): HookDefinitions {
  const hooks: Hook[] = [];
  const problems: string[] = [];
  for (const entry of text.split(/[;\n]/).map((each) => each.trim())) {
    if (entry === '') continue;
    const hook = parseEntry(entry);
    const same = typeof hook !== 'string' && hooks.some((one) => one.stage === hook.stage && one.name === hook.name);
    if (typeof hook === 'string') problems.push(`entry "${entry}" is ignored: ${hook}; ${SYNTAX}`);
    else if (same) problems.push(`entry "${entry}" is ignored: another entry has the same stage and name`);
    else hooks.push(hook);
  }
  return { hooks, problems };
}

const parsed = new WeakMap<MachineClass | Machine, HookDefinitions>();

function definitionsOf(holder: Machine | MachineClass | undefined): HookDefinitions {
  const text = holder?.metadata.annotations?.[Annotations.Hooks];
  if (holder === undefined || text === undefined) return NO_HOOKS;
  const known = parsed.get(holder);
  if (known) return known;
  const definitions = parseHooks(text);
  parsed.set(holder, definitions);
  return definitions;
}

/**
 * Returns the hooks of a machine and its class. A hook of the machine overrides a hook of the class with an equal stage
 * and name.
 */
export function hooksOf(machine: Machine, machineClass: MachineClass | undefined): HookDefinitions {
  const [own, shared] = [definitionsOf(machine), definitionsOf(machineClass)];
  if (own === NO_HOOKS && shared === NO_HOOKS) return NO_HOOKS;
  const replaced = new Set(own.hooks.map(({ stage, name }) => `${stage}/${name}`));
  const where = (what: string) => (problem: string) =>
    `metadata.annotations[${Annotations.Hooks}] of ${what}: ${problem}`;
  return {
    hooks: [...own.hooks, ...shared.hooks.filter(({ stage, name }) => !replaced.has(`${stage}/${name}`))],
    problems: [
      ...own.problems.map(where('the machine')),
      ...shared.problems.map(where(`MachineClass ${machineClass?.metadata.name ?? ''}`)),
    ],
  };
}
