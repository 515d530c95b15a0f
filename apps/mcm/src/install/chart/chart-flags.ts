import type { Flag, Flags } from '@mcm/kube';
import { Command } from 'commander';
import { withDashboardOptions } from '../../dashboard/command.ts';

/** The flags of the programs that the chart runs. */
export interface ProgramFlags {
  readonly manager: Flags;
  readonly controllers: Readonly<Record<string, Flags>>;
  readonly configController: Flags;
  readonly configDaemon: Flags;
}

const PROBES = 'the probes of the pods use the default port';
const NAMESPACE = 'the chart uses the namespace of the release';
const SCRAPED = 'the NetworkPolicy and the monitoring use the default port';

/** Flags that a user of the chart cannot set, because other parts of the chart depend on their values. */
const FIXED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  manager: {
    namespace: NAMESPACE,
    port: PROBES,
    'secure-port': SCRAPED,
    'webhook-port': 'the Service of the webhooks uses the default port',
  },
  controller: { namespace: NAMESPACE, port: PROBES, 'secure-port': SCRAPED },
  configController: {
    namespace: NAMESPACE,
    port: PROBES,
    'secure-port': SCRAPED,
    'config-server-port': 'the Service of the config server uses the default port',
  },
  configDaemon: { port: PROBES },
  dashboard: { namespace: NAMESPACE, port: 'the Service of the dashboard uses the default port' },
};

export const FIXED_FLAGS = Object.entries(FIXED)
  .flatMap(([container, flags]) =>
    Object.entries(flags).map(
      ([name, reason]) =>
        `{{- if hasKey .Values.flags.${container} "${name}" }}{{ fail "flags.${container}.${name} must not be set: ${reason}" }}{{ end }}\n`,
    ),
  )
  .join('');

const SIMPLE = { type: ['string', 'number', 'boolean'] };

const SCHEMAS: Readonly<Record<string, object>> = {
  '[true|false]': { type: ['boolean', 'string'], pattern: '^(true|false)$' },
  '<int>': { type: ['integer', 'string'], pattern: '^[+-]?[0-9]+$' },
  '<number>': { type: ['number', 'string'], pattern: '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$' },
  // A duration needs a unit, except for the number 0.
  '<duration>': {
    type: ['string', 'integer'],
    pattern: '^[+-]?(0|(([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$',
    minimum: 0,
    maximum: 0,
  },
};

const schemaOf = ({ help, placeholder, ignored }: Flag<unknown>): object => ({
  description: help,
  ...(ignored === undefined ? (SCHEMAS[placeholder] ?? SIMPLE) : SIMPLE),
});

const propertiesOf = (flags: Flags): Readonly<Record<string, object>> =>
  Object.fromEntries(
    Object.entries(flags).flatMap(([name, flag]) => [
      [name, schemaOf(flag)],
      ...Object.entries(flag.deprecated ?? {}).map(([old, why]) => [old, { ...schemaOf(flag), description: why }]),
    ]),
  );

const closed = (properties: object): object => ({ type: 'object', additionalProperties: false, properties });

/**
 * Returns the flags of `mcm dashboard` that take a value. Other flags are excluded, because the chart writes each flag
 * as `--name=value`.
 */
function dashboardFlags(): Readonly<Record<string, object>> {
  const { options } = withDashboardOptions(new Command());
  const valued = options.filter(({ required, long }) => required && long != null);
  return Object.fromEntries(valued.map(({ long, description }) => [long?.slice(2) ?? '', { description, ...SIMPLE }]));
}

/** Returns the schemas of the section `flags`. If a flag is unknown, Helm reports an error with its name. */
export const flagSchemas = ({ manager, controllers, configController, configDaemon }: ProgramFlags) => ({
  manager: closed(propertiesOf(manager)),
  // The flags depend on the provider: see `flagsByProvider`.
  controller: {
    type: 'object',
    propertyNames: { pattern: '^[a-z][a-z0-9-]*$' },
    properties: Object.assign({}, ...Object.values(controllers).map(propertiesOf)),
    additionalProperties: SIMPLE,
  },
  configController: closed(propertiesOf(configController)),
  configDaemon: closed(propertiesOf(configDaemon)),
  dashboard: closed(dashboardFlags()),
});

/**
 * Returns a schema for each provider of this project. The schema refuses flags that the machine controller of the
 * provider does not have. The flags of a third-party provider are unknown, so no schema restricts them.
 */
export const flagsByProvider = ({ controllers }: ProgramFlags): readonly object[] =>
  Object.entries(controllers).map(([provider, flags]) => ({
    if: { properties: { provider: { const: provider } } },
    // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema.
    then: {
      properties: {
        flags: {
          properties: {
            controller: {
              additionalProperties: false,
              properties: Object.fromEntries(Object.keys(propertiesOf(flags)).map((name) => [name, true])),
            },
          },
        },
      },
    },
  }));
