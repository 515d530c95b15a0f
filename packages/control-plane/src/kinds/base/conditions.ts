import { Findings } from '../../apimachinery/errors/findings.ts';
import { qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import { items, number, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';

const STATUSES = ['False', 'True', 'Unknown'];
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const REASON_RULE =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
const LONGEST_REASON = 1024;
const LONGEST_MESSAGE = 32 * 1024;

function typeFindings(findings: Findings, type: string, field: string, seen: Set<string>): void {
  if (seen.has(type)) findings.duplicate(field, type);
  seen.add(type);
}

/** Validates conditions of the type `metav1.Condition` (`ValidateConditions`). */
export function conditionsCauses(status: unknown, at = 'status.conditions'): StatusCause[] {
  const findings = new Findings();
  const seen = new Set<string>();
  for (const [index, condition] of items(status, 'conditions').entries()) {
    const field = `${at}[${index}]`;
    const type = text(condition, 'type');
    const [reason, message] = [text(condition, 'reason'), text(condition, 'message')];
    typeFindings(findings, type, `${field}.type`, seen);
    findings.problems(`${field}.type`, type, qualifiedNameProblems(type));
    findings.oneOf(`${field}.status`, text(condition, 'status'), STATUSES);
    const observed = number(condition, 'observedGeneration') ?? 0;
    if (observed < 0) {
      findings.invalid(`${field}.observedGeneration`, observed, 'must be greater than or equal to zero');
    }
    if (text(condition, 'lastTransitionTime') === '') findings.required(`${field}.lastTransitionTime`);
    if (reason === '') findings.required(`${field}.reason`);
    else if (!REASON.test(reason)) findings.invalid(`${field}.reason`, reason, REASON_RULE);
    if (Buffer.byteLength(reason) > LONGEST_REASON) findings.tooLong(`${field}.reason`, LONGEST_REASON);
    if (Buffer.byteLength(message) > LONGEST_MESSAGE) findings.tooLong(`${field}.message`, LONGEST_MESSAGE);
  }
  return findings.causes;
}

/** Validates that all conditions of a flow control object have different types. */
export function conditionTypesCauses(status: unknown, at = 'status.conditions'): StatusCause[] {
  const findings = new Findings();
  const seen = new Set<string>();
  for (const [index, condition] of items(status, 'conditions').entries()) {
    const type = text(condition, 'type');
    typeFindings(findings, type, `${at}[${index}].type`, seen);
    if (type === '') findings.required(`${at}[${index}].type`);
  }
  return findings.causes;
}
