import { nearest } from '../base/nearest.ts';
import type { Meters } from '../metrics/meters.ts';
import type { Flag } from './flag.ts';

/** A part of a binary that can be enabled or disabled. */
export interface Feature {
  readonly stage: 'ALPHA' | 'BETA';
  readonly help: string;
}

/** Features by their names. */
export type Features = Readonly<Record<string, Feature>>;

/** The state of each feature. */
export type FeatureStates = Readonly<Record<string, boolean>>;

const isOnByDefault = ({ stage }: Feature): boolean => stage === 'BETA';

const ALL: Readonly<Record<string, Feature['stage']>> = { AllAlpha: 'ALPHA', AllBeta: 'BETA' };

function parsePair(pair: string, known: readonly string[]): readonly [name: string, on: boolean] {
  const [name = '', value = '', ...rest] = pair.split('=').map((piece) => piece.trim());
  if (!known.includes(name)) {
    const meant = nearest(name, known);
    const hint = meant === undefined ? `known features: ${known.join(', ')}` : `did you mean ${meant}?`;
    throw new RangeError(`must not contain the unknown feature ${name} (${hint}); a valid pair is ${known[0]}=false`);
  }
  if (rest.length > 0 || !/^(true|t|1|false|f|0)$/i.test(value)) {
    throw new RangeError(`must set ${name} to true or false`);
  }
  return [name, /^(true|t|1)$/i.test(value)];
}

function parseStates(text: string, features: Features): FeatureStates {
  const known = [...Object.keys(features), ...Object.keys(ALL)];
  const said = new Map<string, boolean>();
  for (const pair of text.split(',').filter((piece) => piece.trim() !== '')) {
    const [name, on] = parsePair(pair, known);
    if (said.has(name) && said.get(name) !== on) throw new RangeError(`must not set ${name} to both true and false`);
    said.set(name, on);
  }
  const ofStage = (stage: Feature['stage']): boolean | undefined =>
    said.get(Object.keys(ALL).find((name) => ALL[name] === stage) ?? '');
  return Object.fromEntries(
    Object.entries(features).map(([name, feature]) => [
      name,
      said.get(name) ?? ofStage(feature.stage) ?? isOnByDefault(feature),
    ]),
  );
}

/** Parses a list of features in the syntax of Kubernetes, such as `Name=true,Other=false`. */
export const featureGatesFlag = (features: Features): Flag<FeatureStates> => ({
  placeholder: '<name=bool,…>',
  help: `features to enable or disable: ${[
    ...Object.entries(features).map(
      ([name, { stage, help }]) => `${name} (${stage}, default ${stage === 'BETA'}): ${help}`,
    ),
    'AllAlpha and AllBeta set all unlisted features of a stage',
  ].join('; ')}`,
  fallback: parseStates('', features),
  shown: '',
  pairs: true,
  parse: (text) => parseStates(text, features),
});

/** Registers the metric of features with the name that Kubernetes components use. */
export function registerFeatures(meters: Meters, features: Features, states: FeatureStates): void {
  meters.observed(
    {
      name: 'kubernetes_feature_enabled',
      help: 'Features of this program, by stage; 1 means enabled, 0 means disabled (--feature-gates)',
      labels: ['name', 'stage'],
    },
    () =>
      Object.entries(features).map(([name, { stage }]) => ({
        labels: { name, stage },
        value: states[name] === true ? 1 : 0,
      })),
  );
}
