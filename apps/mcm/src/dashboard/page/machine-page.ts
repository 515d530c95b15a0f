import { Labels } from '@mcm/api';
import { KubeError } from '@mcm/kube';
import { UserError } from '../../command/errors.ts';
import { gapNotes, unseen } from '../gaps.ts';
import { html } from './html.ts';
import { phaseOf } from './machine-order.ts';
import type { Fleet } from './overview.ts';
import type { Page } from './page.ts';
import { badge, moodOf } from './words.ts';

/**
 * The page of one machine, with the output of `mcm explain machine/NAME`. It is read again only when a shown object changed.
 * @param explain reads and explains the machine; throws `UserError` when the machine does not exist
 */
export function machinePage(
  { namespace, source, drains }: Fleet,
  name: string,
  explain: (signal: AbortSignal) => Promise<readonly string[]>,
): Page {
  let stamp: string | undefined;
  let text = 'Not read yet.';
  let problem = '';

  const stampNow = (): string => {
    const { nodeOf, events } = source.snapshot();
    const machine = source.machine(name);
    const node = nodeOf?.(machine?.metadata.labels?.[Labels.Node] ?? '');
    const own = events.filter(({ involvedObject: of }) => of.kind === 'Machine' && of.name === name);
    const machineClass = source.machineClass(machine?.spec.class.name ?? '');
    const objects = [machine, node, machineClass, ...own].map((object) => object?.metadata.resourceVersion ?? '');
    // The drain counts with its input, not with its text: the remaining time in the text changes all the time.
    return JSON.stringify([objects, machine && drains.explain(machine)]);
  };

  return {
    title: `mcm dashboard: machine ${name}`,
    async read(signal) {
      const before = stampNow();
      if (before === stamp) return;
      try {
        text = (await explain(signal)).join('\n');
        stamp = before;
        problem = '';
      } catch (error) {
        // The page shows the refusal, and the next change reads again.
        if (!(error instanceof UserError || error instanceof KubeError)) throw error;
        problem = error.message;
      }
    },
    draw() {
      const machine = source.machine(name);
      const phase = machine && phaseOf(machine);
      const { gaps } = source.snapshot();
      const absent = unseen(gaps, 'machines') ?? 'The machine does not exist.';
      const body = html`<h1 id="machine-heading">Machine ${name}</h1>
<p aria-live="polite">Namespace ${namespace}. ${phase === undefined ? absent : badge(moodOf(phase), phase)}</p>
${gapNotes(gaps)}${problem === '' ? undefined : html`<p class="gap">${problem}</p>\n`}<pre>${text}</pre>
<p><a href="/">All machines</a></p>`;
      return [{ id: 'machine', body }];
    },
  };
}
