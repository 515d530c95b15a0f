import {
  CODE_MEANINGS,
  type ConditionMeaning,
  DEPLOYMENT_CONDITIONS,
  EVENTS,
  formatDurationMs,
  MachineCodes,
  NODE_CONDITIONS,
  OPERATION_MEANINGS,
  PHASE_MEANINGS,
  SET_CONDITIONS,
  STATE_MEANINGS,
  STEP_MEANINGS,
  STEP_TEXTS,
  type WordMeaning,
} from '@mcm/api';
import { CALL_RETRIES, errorKindOf } from '@mcm/core';
import {
  CONFIG_EVENTS,
  DAEMON_EVENTS,
  NODE_CONFIG_CONDITIONS,
  POOL_CONDITIONS,
  TEMPLATE_CONDITIONS,
} from '@mcm/machine-config';
import { GENERATED, table } from './markdown.ts';

/** Runbooks and how-tos are named in the code, and linked here. */
const linked = (text = ''): string =>
  text
    .replaceAll(/\b([Rr]unbook) (Mcm\w+)/g, '$1 [$2](../runbooks/$2.md)')
    .replaceAll(
      /[Hh]ow-to “([^”]+)”/g,
      (_all, heading: string) => `[${heading}](../how-to.md#${heading.toLowerCase().replaceAll(' ', '-')})`,
    )
    .replace(/^[a-z]/, (first) => first.toUpperCase());

type Conditions = Readonly<Record<string, ConditionMeaning>>;

const conditionTable = (conditions: Conditions): string =>
  Object.entries(conditions)
    .map(([type, { means, reasons }]) => {
      const rows = Object.entries(reasons).map(([reason, { status, means: told, help }]) => [
        reason === '' ? '(none)' : `\`${reason}\``,
        status,
        told,
        linked(help),
      ]);
      return `### ${type}\n\n${means}\n\n${table(['Reason', 'Status', 'What it means', 'What to do'], rows)}\n`;
    })
    .join('\n');

const wordTable = (heading: string, words: Readonly<Record<string, WordMeaning>>): string =>
  `${table(
    [heading, 'What it means', 'What to do'],
    Object.entries(words).map(([word, { means, help }]) => [`\`${word}\``, means, linked(help)]),
  )}\n`;

/** Of each kind of objects the conditions that controllers write, and the words in a Machine's status. */
const conditionsPage = (): string =>
  [
    GENERATED,
    '# Conditions and phases\n',
    'What objects say of themselves in their status. `mcm explain` puts the same in sentences, with what helps (`mcm config explain` of a pool).\n',
    '## Phases of a Machine\n\nIn `status.currentStatus.phase`, written by the machine controller. A new machine has none.\n',
    wordTable('Phase', PHASE_MEANINGS),
    '## The last operation of a Machine\n\nIn `status.lastOperation`: `type`, `state`, `errorCode` ([error codes](errors.md)) and `description`.\n',
    wordTable('Type', OPERATION_MEANINGS),
    wordTable('State', STATE_MEANINGS),
    'The description of a deletion holds the text of its step; steps follow each other in this order.\n',
    wordTable(
      'Text of the step',
      Object.fromEntries(Object.entries(STEP_MEANINGS).map(([step, words]) => [textOf(step), words])),
    ),
    '## Conditions of a MachineDeployment\n\nIn `status.conditions`, written by the machine-controller-manager.\n',
    conditionTable(DEPLOYMENT_CONDITIONS),
    '## Conditions of a MachineSet\n\nIn `status.machineSetCondition`, written by the machine-controller-manager.\n',
    conditionTable(SET_CONDITIONS),
    '## Conditions of a Node\n\nIn `status.conditions` of the Node, written by the machine controller beside those of the kubelet. All of them are mirrored in `status.conditions` of the Machine.\n',
    conditionTable(NODE_CONDITIONS),
    '## Conditions of a MachineConfigPool\n\nIn `status.conditions`, written by the machine-config-controller.\n',
    conditionTable(POOL_CONDITIONS),
    '## Conditions of the ControllerConfig\n\nIn `status.conditions`, written by the machine-config-controller.\n',
    conditionTable(TEMPLATE_CONDITIONS),
    '## Conditions of KubeletConfigs and ContainerRuntimeConfigs\n\nIn `status.conditions`, written by the machine-config-controller.\n',
    conditionTable(NODE_CONFIG_CONDITIONS),
  ].join('\n');

const isStep = (step: string): step is keyof typeof STEP_TEXTS => Object.hasOwn(STEP_TEXTS, step);
const textOf = (step: string): string => (isStep(step) ? STEP_TEXTS[step] : step);

interface EventMeaning extends WordMeaning {
  readonly on: readonly string[];
  readonly type: string;
}

const eventTable = (events: Readonly<Record<string, EventMeaning>>, kind: string): string =>
  `${table(
    ['Reason', 'Type', 'What it means', 'What to do'],
    Object.entries(events)
      .filter(([, { on }]) => on.includes(kind))
      .map(([reason, { type, means, help }]) => [`\`${reason}\``, type, means, linked(help)]),
  )}\n`;

const MANAGER = 'the machine-controller-manager';
const CONTROLLER = 'the machine controller of the provider';
const CONFIG = 'the machine-config-controller';

/** Events by the objects that they are told of. */
const eventsPage = (): string =>
  [
    GENERATED,
    '# Events\n',
    'What controllers tell of objects: `mcm events`, `kubectl describe`, `kubectl get events`. The API server keeps an event for an hour. What lasts stands in the [status](conditions.md).\n',
    ...(
      [
        ['MachineDeployment', MANAGER, EVENTS],
        ['MachineSet', MANAGER, EVENTS],
        ['Machine', CONTROLLER, EVENTS],
        ['MachineClass', CONTROLLER, EVENTS],
        ['Node', `${CONTROLLER}, in the target cluster`, EVENTS],
        ['MachineConfigPool', CONFIG, CONFIG_EVENTS],
        ['ControllerConfig', CONFIG, CONFIG_EVENTS],
        ['KubeletConfig', CONFIG, CONFIG_EVENTS],
        ['ContainerRuntimeConfig', CONFIG, CONFIG_EVENTS],
        ['Node', CONFIG, CONFIG_EVENTS],
        ['Node', 'the machine-config-daemon', DAEMON_EVENTS],
      ] as const
    ).map(([kind, who, events]) => `## On a ${kind}, by ${who}\n\n${eventTable(events, kind)}`),
  ].join('\n');

const CALLS = ['create', 'initialize', 'status', 'delete'] as const;
const minutes = (ms: number): string =>
  formatDurationMs(ms)
    .replace(/(?<=[hm])0s$/, '')
    .replace(/(?<=h)0m$/, '');
const pace = ({ firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number }): string =>
  firstMs === maxMs ? minutes(firstMs) : `${minutes(firstMs)} … ${minutes(maxMs)}`;

/** What a driver's error is called, whose it is to mend, and when the call is made again. */
const errorsPage = (): string =>
  [
    GENERATED,
    '# Error codes\n',
    'What a cloud’s answer comes to. A driver throws one of these codes; it stands in `status.lastOperation` of the Machine (`errorCode` of a creation, else in `description`), in the label `error_code` of metrics and in the log. Anything else that a driver throws counts as `Unknown`.\n',
    table(
      ['Code', 'Number', 'Kind', 'To be mended by', 'What it means', 'What to do'],
      Object.entries(MachineCodes).map(([code, number]) => {
        const kind = errorKindOf(code);
        const { means, help }: WordMeaning = CODE_MEANINGS[code as keyof typeof MachineCodes];
        return [`\`${code}\``, String(number), kind?.category ?? '', kind?.fault ?? '', means, linked(help)];
      }),
    ),
    '\n## When a call is made again\n',
    'After the first failure, and at the most after many. Where the cloud says how long to wait, longer. `status` is the look-up before a VM is initialised or deleted.\n',
    table(
      ['Code', ...CALLS],
      Object.keys(MachineCodes)
        .filter((code) => code !== 'OK')
        .map((code) => [
          `\`${code}\``,
          ...CALLS.map((call) => pace(CALL_RETRIES[call][code as keyof typeof MachineCodes])),
        ]),
    ),
    '\nAfter `ResourceExhausted` on `create` the first wait is that of `--resource-exhausted-retry`; the machines of a class and zone share it, and it is doubled up to three times its length. A `NotFound` on `delete` is no failure: the VM is gone.\n',
  ].join('\n');

/** The pages of all words that objects, events and errors bear, made of the tables that the code is checked against. */
export const wordReferenceFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/conditions.md', conditionsPage()],
    ['docs/reference/events.md', eventsPage()],
    ['docs/reference/errors.md', errorsPage()],
  ]);
