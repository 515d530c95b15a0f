import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

const rulesOf = (container: Plain): readonly Plain[] => items(container, 'restartPolicyRules');

function actionFor(container: Plain, exitCode: unknown): string {
  const rule = rulesOf(container).find((each) => {
    const codes = look(each, 'exitCodes');
    const holds = Array.isArray(codes.values) && codes.values.includes(exitCode);
    return codes.operator === 'In' ? holds : codes.operator === 'NotIn' && !holds;
  });
  return text(rule, 'action');
}

/** Returns whether a container restarts after its end. */
function restarts(policy: string, exitCode: unknown): boolean | undefined {
  if (policy === 'OnFailure') return exitCode !== 0;
  return policy === 'Always' ? true : policy === 'Never' ? false : undefined;
}

/** Returns whether a later status may report a terminated container as running. */
export function canTerminatedRun(spec: Plain, list: string, name: string, exitCode: unknown): boolean {
  if (list === 'ephemeralContainers') return false;
  const all = [...items(spec, 'initContainers'), ...items(spec, 'containers')];
  if (all.some((each) => rulesOf(each).some(({ action }) => action === 'RestartAllContainers'))) return true;
  const container = items(spec, list).find((each) => each.name === name);
  if (container === undefined) return false;
  if (container.restartPolicy !== undefined) {
    if (['Restart', 'RestartAllContainers'].includes(actionFor(container, exitCode))) return true;
    const own = restarts(text(container, 'restartPolicy'), exitCode);
    if (own !== undefined) return own;
  }
  return restarts(text(spec, 'restartPolicy'), exitCode) ?? true;
}
