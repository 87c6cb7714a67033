import { Redirect, Route, Switch } from "wouter";
import { ActivityPage } from "@/features/activity/ActivityPage";
import { AgentsPage } from "@/features/agents/AgentsPage";
import { ChatPage } from "@/features/chat/ChatPage";
import { NeedsYouPage } from "@/features/needs-you/NeedsYouPage";
import { SettingsPage } from "@/features/settings/SettingsPage";
import { TasksPage } from "@/features/tasks/TasksPage";
import { UsagePage } from "@/features/usage/UsagePage";
import { useConnection } from "@/state/connection";
import { usePlace } from "@/state/place";
import { mainKey } from "@/state/sessions";

function decoded(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** "Chat" without a session opens the one that was open last. */
function LastChat() {
  const last = usePlace((state) => state.lastSession);
  const main = useConnection((state) => state.hello?.snapshot.sessionDefaults.mainSessionKey);
  return <Redirect to={`/chat/${encodeURIComponent(last ?? main ?? mainKey)}`} replace />;
}

/** Which page an address shows. */
export function Pages() {
  return (
    <Switch>
      <Route path="/chat/:key">
        {({ key }) => {
          const session = decoded(key) ?? mainKey;
          return <ChatPage key={session} sessionKey={session} />;
        }}
      </Route>
      <Route path="/chat">
        <LastChat />
      </Route>
      <Route path="/needs-you">
        <NeedsYouPage />
      </Route>
      <Route path="/activity/:id?">{({ id }) => <ActivityPage receiptId={decoded(id)} />}</Route>
      <Route path="/agents">
        <AgentsPage />
      </Route>
      <Route path="/tasks">
        <TasksPage />
      </Route>
      <Route path="/usage">
        <UsagePage />
      </Route>
      <Route path="/settings/:section?">{({ section }) => <SettingsPage section={section} />}</Route>
      <Route>
        <LastChat />
      </Route>
    </Switch>
  );
}
