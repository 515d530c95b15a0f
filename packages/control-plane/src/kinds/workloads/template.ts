import { forbiddenValue, invalidValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { child, items, labels, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { selectorOf } from '../../selectors/label-selector.ts';
import { labelFindings, selectorCauses, shownSelector } from '../base/selector.ts';
import { annotationFindings } from '../base/template-metadata.ts';
import { inOrder } from '../internal/form.ts';
import { defaultPodSpec } from '../pod/defaults.ts';
import { podSpecCauses } from '../pod/validate.ts';

export { selectorCauses } from '../base/selector.ts';

export function defaultTemplate(holder: Plain): void {
  defaultPodSpec(child(child(holder, 'template'), 'spec'));
}

const isEmptySelector = (selector: unknown): boolean =>
  Object.keys(labels(selector, 'matchLabels')).length === 0 && items(selector, 'matchExpressions').length === 0;

export interface SelectorWords {
  readonly kind: string;
  /** If `unreadable` is null, the function does not report an invalid selector. */
  readonly unreadable: string | null;
  readonly controller?: string;
}

const DEPLOYMENT: SelectorWords = {
  kind: 'deployment',
  unreadable: 'invalid label selector',
  controller: 'ReplicaSet',
};

/**
 * Validates the selector and the template of a workload. The selector must not be empty, and must match the template's
 * labels.
 */
export function workloadCauses(spec: Plain, words: SelectorWords = DEPLOYMENT): StatusCause[] {
  const findings = new Findings();
  const { selector } = spec;
  let wrong: readonly StatusCause[] = [];
  if (selector === undefined) {
    // A DaemonSet without a selector is valid.
    if (words.kind !== 'daemonset') findings.required('spec.selector');
  }
  if (selector !== undefined) {
    wrong = selectorCauses(selector, 'spec.selector');
    findings.add(wrong);
    if (isEmptySelector(selector)) {
      findings.invalid('spec.selector', shownSelector(selector), `empty selector is invalid for ${words.kind}`);
    }
  }
  if (wrong.length > 0) {
    if (words.unreadable !== null) findings.invalid('spec.selector', shownSelector(selector), words.unreadable);
    else findings.add(templateCauses(spec, ['Always'], words.controller));
    return findings.causes;
  }
  findings.add(matchCauses(selector, spec));
  findings.add(templateCauses(spec, ['Always'], words.controller));
  return findings.causes;
}

/** Validates that the selector of a workload matches the labels in its pod template. */
export function matchCauses(selector: unknown, spec: Plain): StatusCause[] {
  const meta = look(spec, 'template', 'metadata');
  const matches =
    selector !== undefined && selectorOf(selector as Parameters<typeof selectorOf>[0])(labels(meta, 'labels'));
  if (matches) return [];
  const why = '`selector` does not match template `labels`';
  const shown = inOrder(given(meta, 'labels'));
  return [invalidValue('spec.template.metadata.labels', shown, why)];
}

function templateMetaCauses(template: Plain, at: string): StatusCause[] {
  const findings = new Findings();
  labelFindings(findings, labels(look(template, 'metadata'), 'labels'), `${at}.labels`);
  annotationFindings(findings, labels(look(template, 'metadata'), 'annotations'), `${at}.annotations`);
  return findings.causes;
}

/** Validates the pod template at `path` (`ValidatePodTemplateSpec`). */
export function podTemplateCauses(template: Plain, path: string): StatusCause[] {
  const spec = look(template, 'spec');
  const causes = [...templateMetaCauses(template, path), ...podSpecCauses(spec, `${path}.spec`)];
  if (items(spec, 'ephemeralContainers').length > 0) {
    const why = 'ephemeral containers not allowed in pod template';
    causes.push(forbiddenValue(`${path}.spec.ephemeralContainers`, why));
  }
  return causes;
}

/**
 * @param policies the restart policies that the pods may have
 * @param controller The name of the controller, if its pods must not end.
 */
export function templateCauses(spec: Plain, policies: readonly string[], controller?: string): StatusCause[] {
  const podSpec = look(spec, 'template', 'spec');
  const causes = podTemplateCauses(look(spec, 'template'), 'spec.template');
  const policy = text(podSpec, 'restartPolicy');
  if (!policies.includes(policy)) {
    causes.push(unsupportedValue('spec.template.spec.restartPolicy', policy, policies));
  }
  if (controller !== undefined && podSpec.activeDeadlineSeconds !== undefined) {
    const why = `activeDeadlineSeconds in ${controller} is not Supported`;
    causes.push(forbiddenValue('spec.template.spec.activeDeadlineSeconds', why));
  }
  return causes;
}

/** Validates an integer or percentage such as `1` or `"25%"`. */
export function intOrPercentCauses(field: string, value: unknown): StatusCause[] {
  if (typeof value === 'number') {
    return value < 0 ? [invalidValue(field, value, 'must be greater than or equal to 0')] : [];
  }
  if (typeof value !== 'string') return [];
  if (/^[0-9]+%$/.test(value)) return [];
  return [
    invalidValue(
      field,
      value,
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ),
  ];
}

/** Validates that a percentage is at most 100% (`IsNotMoreThan100Percent`). */
export function percentCauses(field: string, value: unknown): StatusCause[] {
  if (typeof value !== 'string' || !/^[0-9]+%$/.test(value) || Number(value.slice(0, -1)) <= 100) return [];
  return [invalidValue(field, value, 'must not be greater than 100%')];
}

/** As in Go, a text that is neither a percentage nor an integer is zero. */
export const isNothing = (value: unknown): boolean =>
  value === 0 || (typeof value === 'string' && (!/^(\d+%|[+-]?\d+)$/.test(value) || Number.parseInt(value, 10) === 0));
