import { signal } from '@preact/signals';
import { duration } from '../format.ts';
import { machines, now } from '../store.ts';
import { Badge, Words } from './marks.tsx';

interface Shown {
  readonly key: string;
  readonly left: number;
  readonly top: number;
}

const shown = signal<Shown | undefined>(undefined);
const WIDTH = 320;

function show(target: EventTarget | null): void {
  const tile = target instanceof Element ? target.closest<HTMLElement>('.tile') : null;
  if (tile === null) {
    if (shown.peek() !== undefined) shown.value = undefined;
    return;
  }
  const { left, bottom } = tile.getBoundingClientRect();
  const most = Math.max(8, innerWidth - WIDTH - 8);
  const below = bottom + 150 < innerHeight ? bottom + 6 : Math.max(8, bottom - 150);
  shown.value = { key: tile.dataset.key ?? '', left: Math.min(left, most), top: below };
}

/** Shows a short description of the tile that has the pointer or the focus. Escape hides the description. */
export function startTip(): void {
  document.addEventListener('mouseover', ({ target }) => show(target));
  document.addEventListener('focusin', ({ target }) => show(target));
  document.addEventListener('focusout', () => show(null));
  addEventListener('scroll', () => show(null), { passive: true });
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') show(null);
  });
}

/** Screen readers ignore the description, because the label of the tile contains the same text. */
export function Tip() {
  const at = shown.value;
  const row = at && machines.get(at.key)?.value;
  if (at === undefined || row === undefined) return null;
  return (
    <div class="tip" aria-hidden="true" style={{ left: `${at.left}px`, top: `${at.top}px`, width: `${WIDTH}px` }}>
      <strong class="break">
        <Words>{row.name}</Words>
      </strong>
      <div class="tip-line">
        <Badge level={row.level} /> {row.phase} for {duration(now.value - row.since)}
      </div>
      {row.why !== '' && (
        <div class="tip-why">
          <Words>{row.why}</Words>
        </div>
      )}
      <div class="quiet">
        <Words>{[row.deployment, row.zone, row.cls, row.node].filter(Boolean).join(' · ')}</Words>
      </div>
    </div>
  );
}
